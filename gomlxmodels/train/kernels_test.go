package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/backend"
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

// A step of the ResNet-20 through the kernels, direct ones and Winograd's, is that of XLA's own convolutions, up to rounding.
func TestKernelsInResNet20(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a ResNet-20 three times")
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
	for _, b := range []*backend.Backend{b, winograd} {
		before := b.Convolutions().Replaced
		got, loss := step(b)
		// 21 convolutions forward, by their inputs (the first of which XLA drops) and by their kernels.
		if c := b.Convolutions(); c.Replaced-before != 63 || len(c.Native) != 0 {
			t.Errorf("%s: %+v, with %d before", b.Kernels, c, before)
		}
		if math.Abs(loss-wantLoss) > 1e-5 {
			t.Errorf("%s: loss %v; expected %v", b.Kernels, loss, wantLoss)
		}
		// The momentum after one step is the gradient.
		for i, g := range want.slots[0] {
			worst, greatest := 0.0, 0.0
			for k, v := range g {
				worst = math.Max(worst, math.Abs(float64(got.slots[0][i][k]-v)))
				greatest = math.Max(greatest, math.Abs(float64(v)))
			}
			if !(worst <= 1e-3*greatest) {
				t.Errorf("%s: tensor %d: gradient differs by %.2g of its greatest value", b.Kernels, i, worst/greatest)
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
