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

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// Two steps of Adam against its formula in float64, with gradients read off plain steps of SGD from the same weights.
func TestAdam(t *testing.T) {
	b := engines.Backend(t, "go")
	const rate, beta1, beta2, epsilon, decay = 0.01, 0.8, 0.9, 1e-3, 0.02
	step := func(r modelfile.Recipe, s *state, number int) *state {
		p := tinyPlan(r)
		if s == nil {
			s = p.newState()
		}
		tr, err := newTrainer(b, p, s)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		if _, err := tr.step(p.batch(number, 0, order(8)), number); err != nil {
			t.Fatal(err)
		}
		next := &state{weights: make([][]float32, len(s.weights)), slots: p.newSlots()}
		if err := tr.read(next); err != nil {
			t.Fatal(err)
		}
		return next
	}
	for _, decoupled := range []bool{false, true} {
		adam := modelfile.Recipe{
			Optimizer: "adam", OptimizerOptions: map[string]any{"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "decoupled": decoupled},
			WeightDecay: new(decay), LearningRate: rate, Schedule: "constant",
		}
		p := tinyPlan(adam)
		mean, square := map[[2]int]float64{}, map[[2]int]float64{}
		s := p.newState()
		for number := range 2 {
			plainStart := &state{weights: s.weights, slots: tinyPlan(modelfile.Recipe{}).newSlots()}
			plain := step(modelfile.Recipe{Momentum: new(0.0), WeightDecay: new(0.0), LearningRate: 1, Schedule: "constant"}, plainStart, number)
			got := step(adam, s, number)
			for i, info := range p.tensors {
				if info.Running {
					continue
				}
				for j, w := range s.weights[i] {
					g, at := float64(w)-float64(plain.weights[i][j]), [2]int{i, j}
					base := float64(w)
					if decoupled {
						base -= rate * decay * float64(w)
					} else {
						g += decay * float64(w)
					}
					mean[at] = beta1*mean[at] + (1-beta1)*g
					square[at] = beta2*square[at] + (1-beta2)*g*g
					n := float64(number + 1)
					want := base - rate*mean[at]/(1-math.Pow(beta1, n))/(math.Sqrt(square[at]/(1-math.Pow(beta2, n)))+epsilon)
					// The gradient is known to some 1e-6, and counts for rate/epsilon where it is small.
					if math.Abs(float64(got.weights[i][j])-want) > 3e-5 {
						t.Fatalf("decoupled %v, step %d, %s[%d]: %v, want %v", decoupled, number, info.Name, j, got.weights[i][j], want)
					}
				}
			}
			s = got
		}
	}
}

// foreign pushes the network's confidence on further images down, by a weight that ramps.
type foreign struct {
	Weight float64 `json:"weight"`
}

func (foreign) Name() string { return "foreign" }
func (m foreign) Needs() method.Needs {
	return method.Needs{
		Views: 1, Noises: 1, Sets: []method.Set{{Name: "out"}, {Name: "more", Labelled: true}},
		Ramps: map[string]schedule.Ramp{"kappa": {To: m.Weight, Start: 1, Over: 2}},
	}
}

func (foreign) Loss(b *method.Batch) []loss.Term {
	out, more := b.More["out"], b.More["more"]
	return []loss.Term{
		{Name: "cross-entropy", Value: loss.CrossEntropy(b.Logits, b.Labels)},
		{Name: "more", Value: loss.CrossEntropy(more.Logits, more.Labels)},
		{Name: "out", Value: Mul(b.Number("kappa"), Neg(ReduceAllMean(LogSoftmax(out.Logits))))},
	}
}

// A run with every new setting, stopped at several steps, ends as one that was not, and its card says what it was.
func TestResumeNewSettings(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	pictures(t, dir)
	pictures(t, other)
	out, err := dataset.Open("folder:" + other)
	if err != nil {
		t.Fatal(err)
	}
	start := func(path string) Options {
		o := options(t, dir, path)
		o.Nesterov, o.Momentum = false, nil
		o.Optimizer, o.Schedule, o.ScheduleOptions = "adam", "triangular", map[string]any{"peak": 0.5}
		o.Width, o.Bias, o.Initial, o.LearningRate = 0.5, true, nets.Initial("ibp"), 0.002
		o.Own.Method = foreign{0.3}
		o.Ramps = map[string]schedule.Ramp{"sigma": {From: 0.05, To: 0.1, Over: 7, By: "step"}, "more": {To: 1, Over: 3}}
		o.More = map[string]Set{"out": {Data: out.Subset(dataset.Count(11)), Batch: 5, Augment: cropFlip, Sigma: 0.3}, "more": {Data: out, Batch: 3}}
		return o
	}
	whole := run(t, start(filepath.Join(t.TempDir(), "whole")))
	path := filepath.Join(t.TempDir(), "parts")
	for _, at := range []int{1, 7, 13} {
		ctx, stop := context.WithCancel(t.Context())
		o := start(path)
		o.afterStep = func(step int) {
			if step == at {
				stop()
			}
		}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	o := start(path)
	o.More["out"] = Set{Data: out.Subset(dataset.Count(12)), Batch: 5, Augment: cropFlip, Sigma: 0.3}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "recipe.sets is") {
		t.Errorf("other foreign images went on: %v", err)
	}
	own := start(path)
	own.Initial = "own"
	if _, err := Run(t.Context(), own); err == nil || !strings.Contains(err.Error(), "recipe.initial is") {
		t.Errorf("another initialisation went on: %v", err)
	}
	card := run(t, start(path))
	if card.Weights != whole.Weights || card.Loss != whole.Loss {
		t.Error("an interrupt changes the weights")
	}
	r := card.Recipe
	if r.Optimizer != "adam" || r.OptimizerOptions["beta2"] != 0.999 || r.Momentum != nil || *r.WeightDecay != 0 || r.ScheduleOptions["peak"] != 0.5 ||
		r.Ramps["kappa"] != (schedule.Ramp{To: 0.3, Start: 1, Over: 2}) || r.Ramps["sigma"].From != 0.05 || r.Ramps["more"].Over != 3 ||
		len(r.Sets) != 2 || r.Initial != nets.Initial("ibp") || r.Sets[0].Name != "out" || r.Sets[0].Data.Images != 11 || r.Sets[0].Batch != 5 || card.Architecture.Width != 0.5 || !card.Architecture.Bias {
		t.Errorf("card %+v", card)
	}
	if _, err := modelfile.Read(path); err != nil {
		t.Error(err)
	}
}

// A run begins with the random weights that its recipe asks for.
func TestInitial(t *testing.T) {
	begins := func(initial nets.Initial) []float32 {
		p := tinyPlan(modelfile.Recipe{Initial: initial})
		return p.newState().weights[indexOf(p.tensors, "head/kernel")]
	}
	p := tinyPlan(modelfile.Recipe{})
	head := p.tensors[indexOf(p.tensors, "head/kernel")]
	if own := head.Initialize(0); !slices.Equal(begins(""), own) || slices.Equal(begins(nets.Initial("ibp")), own) || !slices.Equal(begins(nets.Initial("ibp")), head.As(nets.Initial("ibp")).Initialize(0)) {
		t.Error("a run begins with other weights")
	}
}

// Every pass over a further set visits all of its images once, in an order of its own, also where a batch ends one pass and begins the next; labels
// may be absent.
func TestFurtherSets(t *testing.T) {
	p := benchPlan("small-cnn", pixel.Shape{Height: 2, Width: 2, Channels: 1})
	images := &dataset.Images{Shape: p.images.Shape}
	for i := range 7 {
		images.IDs, images.Labels = append(images.IDs, i), append(images.Labels, -1)
		images.Pixels = append(images.Pixels, byte(i), byte(i), byte(i), byte(i))
	}
	p.more, p.needs.Sets = []further{{name: "out", images: whole(images), batch: 3, augment: noneAug}}, []method.Set{{Name: "out"}}
	var seen []int
	for step := range 14 {
		next := p.nextMore(step)
		list, err := p.moreImages(next)
		if err != nil {
			t.Fatal(err)
		}
		of := list[0]
		for i := range 3 {
			seen = append(seen, int(math.Round(float64(of.images[4*i]*255))))
			if of.labels[i] != -1 {
				t.Errorf("label %d of an image without", of.labels[i])
			}
		}
	}
	orders := map[[7]int]bool{}
	for pass := range 6 {
		var of [7]int
		copy(of[:], seen[7*pass:])
		there := [7]bool{}
		for _, i := range of {
			there[i] = true
		}
		if there != [7]bool{true, true, true, true, true, true, true} {
			t.Errorf("pass %d visits %v", pass, of)
		}
		orders[of] = true
	}
	if len(orders) < 5 {
		t.Errorf("%d different orders in 6 passes", len(orders))
	}
	p.more[0].order = nil
	if again := p.nextMore(9); p.images == nil || len(again[0]) != 3 {
		t.Error("no batch in the middle")
	} else if list, err := p.moreImages(again); err != nil {
		t.Error(err)
	} else if v := int(math.Round(float64(list[0].images[0] * 255))); v != seen[27] {
		t.Errorf("a feed from step 9 begins with image %d, want %d", v, seen[27])
	}
}

func prepared(t *testing.T, dir, how string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open("folder:" + dir + "[" + how + "]")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBadNewSettings(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for want, change := range map[string]func(*Options){
		`unknown optimizer "adm"; expected "adam"`: func(o *Options) { o.Optimizer = "adm" },
		"settings of sgd, not of adam":             func(o *Options) { o.Optimizer = "adam" },
		`unknown option "beta3"`: func(o *Options) {
			o.Optimizer, o.Nesterov, o.OptimizerOptions = "adam", false, map[string]any{"beta3": 1.}
		},
		"beta1 is 1": func(o *Options) {
			o.Optimizer, o.Nesterov, o.OptimizerOptions = "adam", false, map[string]any{"beta1": 1.}
		},
		"has no milestones":                          func(o *Options) { o.Schedule, o.ScheduleOptions = "step", map[string]any{"by": "step"} },
		"peak is 2":                                  func(o *Options) { o.Schedule, o.ScheduleOptions = "triangular", map[string]any{"peak": 2.} },
		"expected it to end at σ":                    func(o *Options) { o.Ramps = map[string]schedule.Ramp{"sigma": {To: 3}} },
		"has no adversary and no bounds":             func(o *Options) { o.Ramps = map[string]schedule.Ramp{"epsilon": {To: 3}} },
		`a ramp of "wobble", which is neither`:       func(o *Options) { o.Ramps = map[string]schedule.Ramp{"wobble": {To: 3}} },
		`the set "out", which is not there`:          func(o *Options) { o.Own.Method = foreign{1} },
		`a set "out", but the method gaussian takes`: func(o *Options) { o.More = map[string]Set{"out": {Data: o.Train}} },
		"batches of 100 images, but": func(o *Options) {
			o.Own.Method, o.More = foreign{1}, map[string]Set{"out": {Data: o.Train, Batch: 100}, "more": {Data: o.Train}}
		},
		"--set out.batch=42": func(o *Options) {
			o.Method, o.BatchSize, o.More = "oe", 42, map[string]Set{"out": {Data: o.Train, Batch: 43}}
		},
		"42 of 42 images of": func(o *Options) { o.Method, o.More = "oe", map[string]Set{"out": {Data: o.Train}} },
		"images of 6×6×1; those of": func(o *Options) { // smaller, and of other channels
			o.Method, o.More = "oe", map[string]Set{"out": {Data: prepared(t, dir, "resize=6,channels=grey")}}
		},
		"[channels=rgb,resize=8x8] behind": func(o *Options) {
			o.Method, o.More = "oe", map[string]Set{"out": {Data: prepared(t, dir, "resize=6,channels=grey")}}
		},
		"[channels=rgb,crop=8x8] behind its name makes them alike; resize=8x8": func(o *Options) {
			o.Method, o.More = "oe", map[string]Set{"out": {Data: prepared(t, dir, "resize=10,channels=grey")}}
		},
		"[channels=rgb] behind": func(o *Options) {
			o.Method, o.More = "oe", map[string]Set{"out": {Data: prepared(t, dir, "channels=grey")}}
		},
		"[crop=8x8] behind": func(o *Options) {
			o.Method, o.More = "oe", map[string]Set{"out": {Data: prepared(t, dir, "resize=10")}}
		},
		`no initialisation "wide"`:      func(o *Options) { o.Initial = "wide" },
		"begins with those of there":    func(o *Options) { o.Initial, o.From = nets.Initial("ibp"), "there" },
		`noise law is "spectrum:blue`:   func(o *Options) { o.NoiseLaw = "spectrum:blue@0=0.05" },
		"without σ; expected sigma":     func(o *Options) { o.NoiseLaw, o.Sigma = "spectrum:grey@0=0.05", new(0.0) },
		"width 1000; expected a factor": func(o *Options) { o.Width = 1000 },
	} {
		o := options(t, dir, filepath.Join(t.TempDir(), "net"))
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	var o Options
	if err := flat.Check(o, modelfile.Recipe{}, "Start", "Sets"); err != nil { // which a run finds out
		t.Error(err)
	}
	for _, r := range []modelfile.Recipe{{Start: "x"}, {Soft: "x"}, {Sets: []modelfile.Set{{}}}} {
		if err := o.SetRecipe(r); err == nil || !strings.Contains(err.Error(), "what the run is to find out") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// A ramp of a loss's term is a factor of it: at 0 the term does not move the weights.
func TestTermRamp(t *testing.T) {
	b := engines.Backend(t, "go")
	step := func(r modelfile.Recipe, m method.Method, number int) float64 {
		p := toyPlan(m, nil)
		r.BatchSize, r.Epochs = toyImages, 30
		p.set(r, Own{Method: m})
		tr, err := newTrainer(b, p, toyState(p))
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		o, err := tr.step(p.batch(number, 0, order(toyImages)), number)
		if err != nil {
			t.Fatal(err)
		}
		return o.loss
	}
	m := newMethod(t, "consistency")
	ramped := modelfile.Recipe{Sigma: new(toySigma), Ramps: map[string]schedule.Ramp{"consistency": {To: 1, Start: 3}}}
	name := ""
	p := toyPlan(m, nil)
	tr, err := newTrainer(b, p, toyState(p))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.step(p.batch(0, 0, order(toyImages)), 0); err != nil {
		t.Fatal(err)
	}
	name = tr.terms[1]
	tr.close()
	ramped.Ramps = map[string]schedule.Ramp{name: {To: 1, Start: 3}}
	plain := modelfile.Recipe{Sigma: new(toySigma)}
	if full, late := step(plain, m, 5), step(ramped, m, 5); full != late {
		t.Errorf("at the end of the ramp the loss is %v, without one %v", late, full)
	}
	without := newMethod(t, "consistency", "lambda=0", "eta=0")
	full, early := step(plain, m, 1), step(ramped, m, 1)
	if bare := step(plain, without, 1); early >= full || len(p.tensors) == 0 || name == "" || early < bare-1e-6 {
		t.Errorf("before the ramp the loss is %v; with the term %v, bare %v", early, full, bare)
	}
}

// With a grey mode a batch has the noise of before, and in each row one shift besides, of the mode's deviation.
func TestGreyNoise(t *testing.T) {
	const sigma, grey = 0.25, 0.05
	plain := tinyPlan(modelfile.Recipe{Sigma: new(sigma), Augment: noneAug})
	shifted := tinyPlan(modelfile.Recipe{Sigma: new(sigma), NoiseLaw: "spectrum:grey@0=0.05", Augment: noneAug})
	if got := shifted.run.Recipe.NoiseLaw; got != "spectrum/1:grey@0=0.05" {
		t.Errorf("the card says the noise is %q", got)
	}
	var shifts, squares float64
	rows := 0
	for epoch := range 200 {
		step := epoch * plain.stepsPerEpoch
		a, b := plain.batch(step, 0, order(8)), shifted.batch(step, 0, order(8))
		for row := range 8 {
			first := float64(b.images[row*36] - a.images[row*36])
			for i := range 36 {
				if d := float64(b.images[row*36+i] - a.images[row*36+i]); math.Abs(d-first) > 1e-6 {
					t.Fatalf("epoch %d, row %d: value %d is shifted by %v, the first by %v", epoch, row, i, d, first)
				}
			}
			shifts, squares, rows = shifts+first, squares+first*first, rows+1
		}
	}
	mean, deviation := shifts/float64(rows), math.Sqrt(squares/float64(rows))
	if math.Abs(mean) > 5*grey/math.Sqrt(float64(rows)) || math.Abs(deviation/grey-1) > 5/math.Sqrt(2*float64(rows)) {
		t.Errorf("shifts have mean %v and deviation %v; expected 0 and %v", mean, deviation, grey)
	}
	if p := tinyPlan(modelfile.Recipe{Sigma: new(sigma), NoiseLaw: "grid"}); p.run.Recipe.NoiseLaw != "" {
		t.Errorf("noise of the grid alone stands on the card as %q", p.run.Recipe.NoiseLaw)
	}
}
