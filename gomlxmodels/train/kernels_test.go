package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// withKernels opens XLA with kernels, where there are any.
func withKernels(t *testing.T) *backend.Backend {
	t.Helper()
	b, err := backend.OpenForTraining("xla:cpu")
	if err != nil {
		t.Skipf("needs XLA: %v", err)
	}
	if b.Convolutions() == nil {
		t.Skipf("needs kernels: %s", b.Kernels)
	}
	return b
}

// A step of the ResNet-20 through the kernels, direct ones, Winograd's and those in bfloat16, is that of XLA's own convolutions, up to rounding.
func TestKernelsInResNet20(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles a ResNet-20 four times")
	}
	b := withKernels(t)
	native, err := b.Native()
	if err != nil {
		t.Fatal(err)
	}
	if native.Convolutions() != nil || strings.Contains(native.Identity(), "kernels") || !strings.Contains(b.Identity(), ", kernels 1 ") {
		t.Fatalf("%s\n%s", b.Identity(), native.Identity())
	}
	winograd, err := backend.OpenForTraining("xla:cpu,kernels=winograd")
	if err != nil || !strings.HasSuffix(winograd.Kernels, "-winograd") || winograd.Identity() == b.Identity() {
		t.Fatalf("%v, %+v", err, winograd)
	}
	rounded, err := backend.OpenForTraining("xla:cpu,kernels=bf16")
	if err != nil && !strings.Contains(err.Error(), "avx512_bf16") {
		t.Fatal(err)
	}
	step := func(b *backend.Backend) (*state, float64) {
		p := benchPlan("resnet20", pixel.Shape{Height: 32, Width: 32, Channels: 3})
		s := p.newState()
		tr, err := newTrainer(b, p, s)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		o, err := tr.step(p.batch(0, 0, order(8)), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.read(s); err != nil {
			t.Fatal(err)
		}
		return s, o.loss
	}
	want, wantLoss := step(native)
	for _, c := range []struct {
		name           string
		b              *backend.Backend
		loss, gradient float64
		cosine         float64 // least, of the angle between two gradients of a tensor
	}{
		{"direct", b, 1e-5, 1e-3, 0.9999},
		{"winograd", winograd, 1e-5, 1e-3, 0.9999},
		// Over 8 images, factors that are rounded flip ReLUs: PyTorch's gradients with and without rounding have a cosine of .88 to 1.
		{"bf16", rounded, 0.02, 0.7, 0.85},
	} {
		b := c.b
		if b == nil {
			t.Logf("%s: this processor lacks avx512_bf16", c.name)
			continue
		}
		before := b.Convolutions().Replaced
		got, loss := step(b)
		// 21 convolutions forward, by their inputs (the first of which XLA drops) and by their kernels.
		if n := b.Convolutions(); n.Replaced-before != 63 || len(n.Native) != 0 {
			t.Errorf("%s: %+v, with %d before", b.Kernels, n, before)
		}
		if !(math.Abs(loss-wantLoss) <= c.loss) {
			t.Errorf("%s: loss %v; expected %v", b.Kernels, loss, wantLoss)
		}
		// The momentum after one step is the gradient.
		for i, g := range want.slots[0] {
			var worst, greatest, product, mine, theirs float64
			for k, v := range g {
				a, b := float64(got.slots[0][i][k]), float64(v)
				worst, greatest = math.Max(worst, math.Abs(a-b)), math.Max(greatest, math.Abs(b))
				product, mine, theirs = product+a*b, mine+a*a, theirs+b*b
			}
			if !(worst <= c.gradient*greatest && product >= c.cosine*math.Sqrt(mine*theirs)) {
				t.Errorf("%s: tensor %d: gradient differs by %.2g of its greatest value, cosine %.3g", b.Kernels, i, worst/greatest, product/math.Sqrt(mine*theirs))
			}
		}
	}
}

// A training from before there were kernels goes on without them; one with kernels does not go on without.
func TestNativeCheckpointGoesOn(t *testing.T) {
	withKernels(t)
	dir := t.TempDir()
	pictures(t, dir)
	start := func(out, engine string) Options {
		o := options(t, dir, out)
		o.Backend = engine
		return o
	}
	stopped := func(o Options) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		o.afterStep = func(int) { cancel() }
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	whole := run(t, start(filepath.Join(t.TempDir(), "whole"), "xla:cpu,kernels=off"))
	with := run(t, start(filepath.Join(t.TempDir(), "with"), "xla:cpu"))
	if whole.Weights == with.Weights || whole.Backend == with.Backend {
		t.Error("kernels change nothing")
	}

	out := filepath.Join(t.TempDir(), "parts")
	stopped(start(out, "xla:cpu,kernels=off"))
	o := start(out, "xla:cpu")
	var said []string
	o.Progress = func(s progress.State) { said = append(said, s.Message) }
	if card := run(t, o); card.Weights != whole.Weights || card.Backend != whole.Backend {
		t.Errorf("%s, %s; expected %s, %s", card.Weights, card.Backend, whole.Weights, whole.Backend)
	}
	if !strings.Contains(strings.Join(said, "\n"), "goes on without them") {
		t.Error(said)
	}

	out = filepath.Join(t.TempDir(), "other")
	stopped(start(out, "xla:cpu"))
	if _, err := Run(t.Context(), start(out, "xla:cpu,kernels=off")); err == nil || !strings.Contains(err.Error(), "kernels 1") {
		t.Errorf("error %v", err)
	}
}

// A training in bfloat16 does not go on in float32.
func TestBF16CheckpointStays(t *testing.T) {
	withKernels(t)
	if _, err := backend.OpenForTraining("xla:cpu,kernels=bf16"); err != nil {
		if strings.Contains(err.Error(), "avx512_bf16") {
			t.Skip("this processor lacks avx512_bf16")
		}
		t.Fatal(err)
	}
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	pictures(t, dir)
	o := options(t, dir, out)
	o.Backend = "xla:cpu,kernels=bf16"
	ctx, cancel := context.WithCancel(t.Context())
	o.afterStep = func(int) { cancel() }
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, engine := range []string{"xla:cpu", "xla:cpu,kernels=off"} {
		o := options(t, dir, out)
		o.Backend = engine
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "-bf16") {
			t.Errorf("%s: error %v", engine, err)
		}
	}
	o = options(t, dir, out)
	o.Backend = "xla:cpu,kernels=bf16"
	if card := run(t, o); !strings.Contains(card.Backend, "kernels 1 avx512-bf16") {
		t.Error(card.Backend)
	}
}
