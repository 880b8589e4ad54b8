package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// An interrupted run of a method with views and an attack ends as one that was not, and its card says what it was.
func TestResumeMethods(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for _, c := range []struct {
		method method.Method
		views  augment.Augmentation
	}{
		{newMethod(t, "hcr", "noises=1"), augment.FourierMix{}},
		{newMethod(t, "acce-act", "noises=2", "warm_up=2", "delay=1"), nil},
		{newMethod(t, "gaussian", "share=half_replace"), augment.AugMix{}},
		{newMethod(t, "cat-rs", "noises=2", "steps=2"), augment.FourierMix{}},
		{newMethod(t, "smoothmix", "steps=2", "warm_up=2"), nil},
	} {
		start := func(out string) Options {
			o := options(t, dir, out)
			o.Own.Method, o.Own.Views, o.Epochs, o.SigmaWarmUp = c.method, c.views, 2, 2
			return o
		}
		whole := run(t, start(filepath.Join(t.TempDir(), "whole")))
		out := filepath.Join(t.TempDir(), "parts")
		o := start(out)
		ctx, cancel := context.WithCancel(t.Context())
		o.afterStep = func(step int) {
			if step == 3 {
				cancel()
			}
		}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		o.Own.Method = newMethod(t, "macer")
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "recipe.method is") {
			t.Errorf("another method went on: %v", err)
		}
		card := run(t, start(out))
		if card.Weights != whole.Weights || card.Loss != whole.Loss {
			t.Errorf("%s: an interrupt changes the weights", c.method.Name())
		}
		want := ""
		if c.views != nil {
			want = c.views.String()
		}
		if card.Recipe.Method != c.method.Name() || card.Recipe.Views != want || len(card.Recipe.Options) == 0 {
			t.Errorf("recipe %+v", card.Recipe)
		}
	}
}

// A run may begin with the weights of a model, which the recipe names; with a rate next to nothing it keeps them.
func TestStart(t *testing.T) {
	dir, first, second := t.TempDir(), filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	pictures(t, dir)
	o := options(t, dir, first)
	o.Epochs = 1
	before := run(t, o)
	o.Out, o.From, o.LearningRate = second, first, 1e-30
	after := run(t, o)
	if after.Recipe.Start != before.Weights {
		t.Errorf("recipe %+v, want it to begin with %s", after.Recipe, before.Weights)
	}
	there, err := modelfile.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	here, err := modelfile.Read(second)
	if err != nil {
		t.Fatal(err)
	}
	for i, tensor := range there.Weights {
		if strings.HasSuffix(tensor.Name, "/kernel") && here.Weights[i].Values[0] != tensor.Values[0] {
			t.Errorf("%s begins elsewhere", tensor.Name)
		}
	}
	o.Out, o.Network = filepath.Join(dir, "third"), "resnet8"
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is a small-cnn for images of 8×8×3 in 3 classes") {
		t.Errorf("error %v", err)
	}
	o.From = filepath.Join(dir, "nothing")
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the model to start from") {
		t.Errorf("error %v", err)
	}
}

// terms is a method whose loss is given.
type terms struct {
	list func(b *method.Batch) []loss.Term
}

func (terms) Name() string                       { return "terms" }
func (terms) Needs() method.Needs                { return method.Needs{Views: 1, Noises: 1} }
func (m terms) Loss(b *method.Batch) []loss.Term { return m.list(b) }
func (terms) MarshalJSON() ([]byte, error)       { return []byte("{}"), nil }

// A loss that is not finite, or is none, ends the run with what was wrong.
func TestBadLosses(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for want, list := range map[string]func(b *method.Batch) []loss.Term{
		"(second NaN) at step 1 (epoch 1)": func(b *method.Batch) []loss.Term {
			cross := loss.CrossEntropy(b.Logits, b.Labels)
			return []loss.Term{{Name: "first", Value: cross}, {Name: "second", Value: Log(AddScalar(MulScalar(cross, 0), -1))}}
		},
		"its loss has no terms": func(b *method.Batch) []loss.Term { return nil },
		`the term "wide" of its loss is no scalar`: func(b *method.Batch) []loss.Term {
			return []loss.Term{{Name: "wide", Value: b.Logits}}
		},
	} {
		o := options(t, dir, filepath.Join(t.TempDir(), "net"))
		o.Own.Method = terms{list}
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
		if modelfile.Exists(o.Out) {
			t.Error("a model was written")
		}
	}
}

// Combinations that make no sense are refused before anything is done.
func TestBadMethods(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for want, change := range map[string]func(*Options){
		"the method hcr takes 3 views of an image, but there is no augmentation": func(o *Options) { o.Own.Method = newMethod(t, "hcr") },
		"method recorded: 0 noises":                func(o *Options) { o.Own.Method = silent{} },
		"5 epochs in which σ grows, in a run of 4": func(o *Options) { o.SigmaWarmUp = 5 },
		"intervals of confidences need noise":      func(o *Options) { o.Own.Method, o.Sigma = newMethod(t, "exact-act", "noises=1"), new(0.0) },
		"view 0 of image":                          func(o *Options) { o.Own.Views = augment.Chain{augment.FourierMix{}, augment.AugMix{}} },
	} {
		o := options(t, dir, filepath.Join(t.TempDir(), "net"))
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// toyState has weights that are not zero, and no velocities.
func toyState(p *plan) *state {
	s, theta := &state{}, toyWeights()
	for _, info := range p.tensors {
		values := make([]float32, info.Size())
		for i := range values {
			values[i] = float32(theta[i])
		}
		s.weights = append(s.weights, values)
	}
	s.slots = p.newSlots()
	return s
}

// Without a budget every adversary leaves training on Gaussian noise: the cross-entropy of all noise samples.
func TestNoBudgetIsGaussian(t *testing.T) {
	b := engines.Backend(t, "go")
	step := func(m method.Method) []float32 {
		p := toyPlan(m, nil)
		s := toyState(p)
		tr, err := newTrainer(b, p, s)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		if _, err := tr.step(p.batch(20, 0, order(toyImages)), 20); err != nil {
			t.Fatal(err)
		}
		if err := tr.read(s); err != nil {
			t.Fatal(err)
		}
		return slices.Concat(s.weights...)
	}
	want := step(newMethod(t, "consistency", "noises=3", "lambda=0", "eta=0"))
	for _, name := range []string{"smoothadv", "brier-act", "acce-act", "exact-act", "acce-act-star", "exact-start"} {
		settings := []string{"noises=3", "epsilon=0"}
		if name == "acce-act-star" {
			settings = append(settings, "beta=0")
		}
		for i, v := range step(newMethod(t, name, settings...)) {
			if math.Abs(float64(v-want[i])) > 1e-6 {
				t.Errorf("%s without a budget: weight %d is %g, want %g", name, i, v, want[i])
				break
			}
		}
	}
}

// recorder is a driver that keeps the deviation it is told.
type recorder struct{ sigma *float64 }

func (r recorder) Drive(s *attack.State) error {
	*r.sigma = s.Sigma
	return attack.Lower{}.Drive(s)
}

// recorded is SmoothAdv with that driver.
type recorded struct{ sigma *float64 }

func (recorded) Name() string { return "recorded" }
func (m recorded) Needs() method.Needs {
	return method.Needs{Views: 1, Noises: 2, Adversary: &attack.Adversary{
		Epsilon: 0.1, Steps: 1, Rate: 1, Driver: func() attack.Driver { return recorder{m.sigma} },
	}}
}
func (recorded) Loss(b *method.Batch) []loss.Term {
	return []loss.Term{{Name: "cross-entropy", Value: loss.CrossEntropy(b.ByCopy(), b.Labels)}}
}

// silent takes no noise sample.
type silent struct{ recorded }

func (silent) Needs() method.Needs { return method.Needs{Views: 1} }

// While the noise grows, the adversary's intervals belong to the noise of the epoch.
func TestAdversaryKnowsTheNoise(t *testing.T) {
	var sigma float64
	p := toyPlan(recorded{&sigma}, nil)
	p.ramps[sigmaRamp] = schedule.Ramp{To: 1, Over: 4}
	tr, err := newTrainer(engines.Backend(t, "go"), p, toyState(p))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	for epoch, want := range []float64{0.25, 0.5, 0.75, 1, 1} {
		if _, err := tr.step(p.batch(epoch, 0, order(toyImages)), epoch); err != nil {
			t.Fatal(err)
		}
		if sigma != want {
			t.Errorf("epoch %d: the adversary is told σ = %g, want %g", epoch, sigma, want)
		}
	}
}
