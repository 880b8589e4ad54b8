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

// A step of the ResNet-8, which has every convolution of the deeper ones, through the kernels, direct ones, Winograd's and those in bfloat16, is that of XLA's own convolutions, up to rounding.
func TestKernelsInResNet8(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles a ResNet-8 four times")
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
	trainers := map[*backend.Backend]*trainer{} // a step is compiled once
	step := func(b *backend.Backend, prepare func(*plan, *state)) (*state, float64) {
		p := benchPlan("resnet8", pixel.Shape{Height: 32, Width: 32, Channels: 3})
		s := p.newState()
		prepare(p, s)
		tr := trainers[b]
		if tr == nil {
			if tr, err = newTrainer(b, p, s); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(tr.close)
			trainers[b] = tr
		} else if err := tr.load(s); err != nil {
			t.Fatal(err)
		}
		o, err := tr.step(p.batch(0, 0, order(8)), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.read(s); err != nil {
			t.Fatal(err)
		}
		return s, o.loss
	}
	asDrawn := func(*plan, *state) {}
	want, wantLoss := step(native, decideReLUs)
	wantDrawn, wantDrawnLoss := step(native, asDrawn)
	for _, c := range []struct {
		name           string
		b              *backend.Backend
		prepare        func(*plan, *state)
		want           *state
		wantLoss       float64
		loss, gradient float64
		cosine         float64 // least, of the angle between two gradients of a tensor
	}{
		// Weights with other last bits stand for another processor's sums: they must change no verdict.
		{"last bits", native, otherLastBits, want, wantLoss, 1e-5, 1e-3, 0.9999},
		{"direct", b, decideReLUs, want, wantLoss, 1e-5, 1e-3, 0.9999},
		{"winograd", winograd, decideReLUs, want, wantLoss, 1e-5, 1e-3, 0.9999},
		// Over 8 images, factors that are rounded flip ReLUs: PyTorch's gradients with and without rounding have a cosine of .88 to 1.
		{"bf16", rounded, asDrawn, wantDrawn, wantDrawnLoss, 0.02, 0.7, 0.85},
	} {
		b := c.b
		if b == nil {
			t.Logf("%s: this processor lacks avx512_bf16", c.name)
			continue
		}
		var before int
		if b != native {
			before = b.Convolutions().Replaced
		}
		got, loss := step(b, c.prepare)
		if b != native {
			// 9 convolutions forward, by their inputs (the first of which XLA drops) and by their kernels.
			if n := b.Convolutions(); n.Replaced-before != 27 || len(n.Native) != 0 {
				t.Errorf("%s: %+v, with %d before", b.Kernels, n, before)
			}
		}
		if !(math.Abs(loss-c.wantLoss) <= c.loss*max(1, c.wantLoss)) {
			t.Errorf("%s: loss %v; expected %v", c.name, loss, c.wantLoss)
		}
		// The momentum after one step is the gradient.
		for i, g := range c.want.slots[0] {
			var worst, greatest, product, mine, theirs float64
			for k, v := range g {
				a, b := float64(got.slots[0][i][k]), float64(v)
				worst, greatest = math.Max(worst, math.Abs(a-b)), math.Max(greatest, math.Abs(b))
				product, mine, theirs = product+a*b, mine+a*a, theirs+b*b
			}
			if !(worst <= c.gradient*greatest && product >= c.cosine*math.Sqrt(mine*theirs)) {
				t.Errorf("%s: tensor %d: gradient differs by %.2g of its greatest value, cosine %.3g",
					c.name, i, worst/greatest, product/math.Sqrt(mine*theirs))
			}
		}
	}
}

// decideReLUs shifts what enters each ReLU away from zero, so that no rounding decides a sign: all
// channels are open, but for a quarter of those inside the blocks, which are shut.
func decideReLUs(p *plan, s *state) {
	for i, tensor := range p.tensors {
		if !strings.HasSuffix(tensor.Name, "/shift") {
			continue
		}
		inner := strings.HasSuffix(tensor.Name, "bn1/shift")
		for k := range s.weights[i] {
			s.weights[i][k] = 8
			if inner && k%4 == 0 {
				s.weights[i][k] = -8
			}
		}
	}
}

// otherLastBits is decideReLUs with another last bit in every weight.
func otherLastBits(p *plan, s *state) {
	decideReLUs(p, s)
	for _, values := range s.weights {
		for k, v := range values {
			values[k] = math.Float32frombits(math.Float32bits(v) ^ uint32(1+k%2))
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
