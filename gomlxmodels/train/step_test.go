package train

import (
	"fmt"
	"math"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// tinyPlan is a run on 6×6 images; the tests change the recipe's step.
func tinyPlan(recipe modelfile.Recipe) *plan {
	p := benchPlan("small-cnn", pixel.Shape{Height: 6, Width: 6, Channels: 1})
	p.set(recipe, Own{})
	return p
}

// One step of the optimizer against its formula in float64, with the gradient read off a
// plain step of rate 1.
func TestOptimizer(t *testing.T) {
	b := engines.Backend(t, "go")
	const momentum, decay, rate = 0.8, 0.01, 0.3
	step := func(momentum, decay float64, nesterov bool, rate float64) *state {
		p := tinyPlan(modelfile.Recipe{Momentum: &momentum, WeightDecay: &decay, Nesterov: nesterov, LearningRate: rate, Schedule: "constant"})
		s := p.newState()
		for i := range s.slots[0] {
			for j := range s.slots[0][i] {
				s.slots[0][i][j] = 0.01 * float32(j%7)
			}
		}
		tr, err := newTrainer(b, p, s)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		if _, err := tr.step(p.batch(0, 0, order(8)), 0); err != nil {
			t.Fatal(err)
		}
		if err := tr.read(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	start := tinyPlan(modelfile.Recipe{}).newState()
	plain := step(0, 0, false, 1)
	for _, nesterov := range []bool{false, true} {
		got := step(momentum, decay, nesterov, rate)
		for i, info := range tinyPlan(modelfile.Recipe{}).tensors {
			if info.Running {
				continue
			}
			for j, w := range start.weights[i] {
				gradient := float64(w) - float64(plain.weights[i][j])
				d := gradient + decay*float64(w)
				v := momentum*0.01*float64(j%7) + d
				next := float64(w) - rate*v
				if nesterov {
					next = float64(w) - rate*(d+momentum*v)
				}
				if math.Abs(float64(got.slots[0][i][j])-v) > 2e-6 || math.Abs(float64(got.weights[i][j])-next) > 2e-6 {
					t.Fatalf("nesterov=%v %s[%d]: weight %g, velocity %g; want %g, %g",
						nesterov, info.Name, j, got.weights[i][j], got.slots[0][i][j], next, v)
				}
			}
		}
	}
}

func TestRate(t *testing.T) {
	p := &plan{stepsPerEpoch: 10, steps: 80}
	for _, c := range []struct {
		recipe modelfile.Recipe
		step   int
		want   float64
	}{
		{modelfile.Recipe{Schedule: "cosine"}, 0, 0.2},
		{modelfile.Recipe{Schedule: "cosine"}, 40, 0.1},
		{modelfile.Recipe{Schedule: "cosine"}, 20, 0.2 * (1 + math.Sqrt2/2) / 2},
		{modelfile.Recipe{Schedule: "cosine", WarmUp: 2}, 19, 0.02},
		{modelfile.Recipe{Schedule: "cosine", WarmUp: 2}, 20, 0.2 * (1 + math.Sqrt2/2) / 2},
		{modelfile.Recipe{Schedule: "step", Milestones: []int{4, 6}}, 39, 0.2},
		{modelfile.Recipe{Schedule: "step", Milestones: []int{4, 6}}, 40, 0.02},
		{modelfile.Recipe{Schedule: "step", Milestones: []int{4, 6}}, 60, 0.002},
	} {
		c.recipe.LearningRate, c.recipe.Epochs = 0.2, 8
		p.set(c.recipe, Own{})
		if got := p.rate(c.step); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: rate %g at step %d, want %g", c.recipe, got, c.step, c.want)
		}
	}
}

// Every crop and flip against the padded image, and each about as often as the others.
func TestCropFlip(t *testing.T) {
	shape := pixel.Shape{Height: 5, Width: 6, Channels: 2}
	images := &dataset.Images{Shape: shape, IDs: []int{0}, Pixels: make([]uint8, shape.Len())}
	for i := range images.Pixels {
		images.Pixels[i] = uint8(i + 1)
	}
	values := make([]float32, shape.Len())
	scale(images.Pixels, values)
	window := func(down, right int, flip bool) string {
		var text []float32
		for i := range shape.Height {
			for j := range shape.Width {
				for c := range shape.Channels {
					x := j
					if flip {
						x = shape.Width - 1 - j
					}
					y, x := i+down, x+right
					v := float32(0)
					if y >= 0 && y < shape.Height && x >= 0 && x < shape.Width {
						v = float32(images.Pixels[(y*shape.Width+x)*shape.Channels+c]) / 255
					}
					text = append(text, v)
				}
			}
		}
		return fmt.Sprint(text)
	}
	seen := map[string]int{}
	for down := -4; down <= 4; down++ {
		for right := -4; right <= 4; right++ {
			seen[window(down, right, false)] = 0
			seen[window(down, right, true)] = 0
		}
	}
	if len(seen) != 162 {
		t.Fatalf("%d windows of 2·9·9", len(seen))
	}
	const draws = 162 * 100
	for i := range draws {
		out := make([]float32, shape.Len())
		framingOf(cropFlip).window(stream(1, imageStream, 0, i, 0), shape, shape).cut(values, shape, shape, out)
		text := fmt.Sprint(out)
		if _, ok := seen[text]; !ok {
			t.Fatalf("not a window of the padded image: %s", text)
		}
		seen[text]++
	}
	// χ² with 161 degrees of freedom exceeds 270 once in ten million.
	chi := 0.0
	for _, n := range seen {
		chi += float64((n-100)*(n-100)) / 100
	}
	if chi > 270 {
		t.Errorf("χ² = %g over 162 windows", chi)
	}
}

// Batches equal an uninterrupted feed's wherever it starts; every epoch visits every
// image at most once, in an order of its own, and the noise has the deviation σ.
func TestFeed(t *testing.T) {
	p := benchPlan("small-cnn", pixel.Shape{Height: 4, Width: 4, Channels: 1})
	p.run.Recipe.BatchSize, p.stepsPerEpoch, p.steps = 100, 5, 15
	collect := func(from int) (all []batch) {
		for b := range p.feed(t.Context(), from) {
			all = append(all, b)
		}
		return all
	}
	whole := collect(0)
	if len(whole) != 15 {
		t.Fatalf("%d batches, want 15", len(whole))
	}
	for _, from := range []int{1, 5, 12} {
		for i, b := range collect(from) {
			if fmt.Sprint(b) != fmt.Sprint(whole[from+i]) {
				t.Errorf("batch %d differs in a feed from step %d", from+i, from)
			}
		}
	}
	if fmt.Sprint(whole[0]) == fmt.Sprint(whole[5]) {
		t.Error("two epochs begin alike")
	}

	p.set(modelfile.Recipe{BatchSize: 100}, Own{})
	members := order(512)
	clean := p.batch(0, 0, members)
	p.set(modelfile.Recipe{BatchSize: 100, Sigma: new(0.25)}, Own{})
	noisy := p.batch(0, 0, members)
	var sum, squares float64
	for i := range clean.images {
		d := float64(noisy.images[i] - clean.images[i])
		sum += d
		squares += d * d
	}
	n := float64(len(clean.images)) // 8192: mean and deviation within 5 standard errors
	if math.Abs(sum/n) > 5*0.25/math.Sqrt(n) || math.Abs(math.Sqrt(squares/n)/0.25-1) > 5/math.Sqrt(2*n) {
		t.Errorf("noise of mean %g and deviation %g", sum/n, math.Sqrt(squares/n))
	}
	for i, v := range clean.images {
		if want := float32(p.images.Whole().Pixels[i]) / 255; v != want {
			t.Fatalf("value %d is %g, want %g", i, v, want)
		}
	}
}
