package purity_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/pixel"
)

var shape = pixel.Shape{Height: 3, Width: 4, Channels: 1}

// model is a good model, Step, whose answers are changed in some way.
type model struct {
	classifier.Step
	values string // "logits", "scores", "classes": what it gives
	change func(classes []int32, batch classifier.Batch)
	shift  func(logits []float32) // of one row
	mu     *sync.Mutex
}

func (m model) Info() (classifier.Info, error) {
	info, err := m.Step.Info()
	info.Logits = m.values == "logits"
	return info, err
}

func (m model) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	info, _ := m.Info()
	if err := classifier.Check(info, batch, result); err != nil {
		return err
	}
	if m.values == "classes" && result.Scores != nil {
		return errors.New("classes alone")
	}
	info, _ = m.Step.Info()
	own := classifier.Result{Classes: make([]int32, batch.N), Logits: make([]float32, batch.N*info.Classes)}
	if err := m.Step.Classify(ctx, batch, &own); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.change != nil {
		m.change(own.Classes, batch)
		for i, class := range own.Classes {
			row := own.Logits[i*info.Classes : (i+1)*info.Classes]
			largest := float32(math.Inf(-1))
			for _, v := range row {
				largest = max(largest, v)
			}
			row[class] = largest + 1
		}
	}
	if m.shift != nil {
		for i := range batch.N {
			m.shift(own.Logits[i*info.Classes : (i+1)*info.Classes])
		}
	}
	classifier.Decide(info, batch, own.Logits, result)
	return nil
}

func step(values string, classes int) model {
	thresholds := make([]float64, classes-1)
	for i := range thresholds {
		thresholds[i] = (float64(i+1) + .01) / float64(classes) // off the grid: no exact ties
	}
	return model{Step: classifier.Step{Shape: shape, Thresholds: thresholds}, values: values, mu: &sync.Mutex{}}
}

// blocks are noise samples of images, one image a block.
func blocks(n, images int, sigma float64, seed uint64, real bool) []classifier.Batch {
	random := rand.New(rand.NewPCG(seed, 3))
	var all []classifier.Batch
	base := make([][]float64, images)
	for k := range base {
		for range shape.Len() {
			base[k] = append(base[k], random.Float64())
		}
	}
	for k := range purity.References(n) {
		b := classifier.Batch{N: n}
		for range n {
			for _, v := range base[k%images] {
				v += sigma * random.NormFloat64()
				if real {
					b.Real = append(b.Real, float32(v))
				} else {
					b.Grid = append(b.Grid, int16(math.Round(255*v)))
				}
			}
		}
		all = append(all, b)
	}
	return all
}

// majority answers the most frequent class of the batch for all of it.
func majority(classes []int32, _ classifier.Batch) {
	votes, best := map[int32]int{}, int32(0)
	for _, c := range classes {
		votes[c]++
	}
	for c, n := range votes {
		if n > votes[best] || n == votes[best] && c < best {
			best = c
		}
	}
	for i := range classes {
		classes[i] = best
	}
}

// randomly draws a class in a share of the answers.
func randomly(share float64, classes int, seed uint64) func([]int32, classifier.Batch) {
	random := rand.New(rand.NewPCG(seed, 7))
	return func(answers []int32, _ classifier.Batch) {
		for i := range answers {
			if random.Float64() < share {
				answers[i] = random.Int32N(int32(classes))
			}
		}
	}
}

func found(t *testing.T, m classifier.Classifier, b []classifier.Batch, seed uint64) purity.Found {
	t.Helper()
	f, _, err := purity.Check(t.Context(), m, b, seed, purity.Effort{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFindsModelsThatDependOnTheirBatch(t *testing.T) {
	for _, values := range []string{"logits", "scores", "classes"} {
		for _, images := range []int{1, 3, 10} {
			for _, n := range []int{2, 10, 100} {
				m := step(values, 10)
				m.change = majority
				if f := found(t, m, blocks(n, images, .25, uint64(images), n == 10), 1); !f.Contradicted() {
					t.Errorf("majority of blocks of %d, %d images, %s: %+v", n, images, values, f)
				}
			}
		}
		for name, change := range map[string]func([]int32, classifier.Batch){
			"the place counts":   func(c []int32, b classifier.Batch) { c[b.N-1] = 3 },
			"answers are turned": func(c []int32, _ classifier.Batch) { c[0], c[len(c)-1] = c[len(c)-1], c[0] },
			"alone is different": func(c []int32, b classifier.Batch) {
				if b.N == 1 {
					c[0] = (c[0] + 1) % 10
				}
			},
			"the call counts": func() func([]int32, classifier.Batch) {
				calls := 0
				return func(c []int32, _ classifier.Batch) {
					if calls++; calls%5 == 0 {
						for i := range (len(c) + 9) / 10 {
							c[i] = (c[i] + 1) % 10
						}
					}
				}
			}(),
		} {
			m := step(values, 10)
			m.change = change
			if f := found(t, m, blocks(100, 3, .25, 1, false), 1); !f.Contradicted() {
				t.Errorf("%s, %s: %+v", name, values, f)
			}
		}
	}
}

// Random answers in a share of 0.05 are missed with a probability of 10⁻⁶; 300 trials miss one with 3·10⁻⁴.
func TestFindsRandomAnswers(t *testing.T) {
	for _, c := range []struct {
		n, classes int
		share      float64
		values     string
		trials     int
	}{
		{1, 10, .30, "classes", 20}, {1, 2, .05, "classes", 60}, {1, 10, .05, "logits", 20},
		{100, 2, .05, "classes", 100}, {100, 10, .05, "classes", 60}, {100, 10, .05, "scores", 20}, {32, 1000, .05, "classes", 20},
	} {
		if testing.Short() {
			c.trials = 4
		}
		for trial := range c.trials {
			m := step(c.values, c.classes)
			m.change = randomly(c.share, c.classes, uint64(trial))
			if f := found(t, m, blocks(c.n, 3, .25, uint64(trial), false), 1); !f.Contradicted() {
				t.Errorf("%+v, trial %d: %+v", c, trial, f)
			}
		}
	}
}

// The tail that Comparisons solves, against a sum of binomial terms.
func TestComparisons(t *testing.T) {
	for _, classes := range []int{2, 3, 10, 1000} {
		n, q := purity.Comparisons(classes), .05*(1-1/float64(classes))
		tail := func(n int) float64 {
			m, sum := float64(n), 0.
			for k, ways := range []float64{1, m, m * (m - 1) / 2} {
				sum += ways * math.Pow(q, float64(k)) * math.Pow(1-q, m-float64(k))
			}
			return sum
		}
		if tail(n) > 5e-7 || tail(n-1) <= 5e-7 {
			t.Errorf("%d classes: %d comparisons, tail %g and %g before", classes, n, tail(n), tail(n-1))
		}
		f := found(t, step("classes", classes), blocks(100, 3, .25, 1, false), 1)
		if f.Comparisons < n || f.Contradicted() || f.Changed > 0 {
			t.Errorf("%d classes: %+v, want %d comparisons", classes, f, n)
		}
	}
	f := found(t, step("classes", 10), blocks(100, 3, .25, 1, false), 1)
	if f.Answers != 1232 {
		t.Errorf("%d answers; the comment of Check says 1,232", f.Answers)
	}
}

// Honest models are never refused: 400 trials over what they give, forms, blocks and images, with logits that rounding moves by up to
// 10⁻⁴ of their spread (a network in 32 bits: 10⁻⁶).
func TestKeepsHonestModels(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for trial := range 400 {
		classes := 2 + trial%9
		m := step([]string{"logits", "scores", "classes"}[trial%3], classes)
		if m.values != "classes" {
			m.shift = func(row []float32) {
				spread := float64(slices.Max(row) - slices.Min(row))
				for c := range row {
					row[c] += float32(1e-4 * spread * (2*random.Float64() - 1))
				}
			}
		}
		n := []int{1, 7, 100}[trial/3%3]
		if f := found(t, m, blocks(n, 1+trial%10, .1+float64(trial%4)/4, uint64(trial), trial%2 == 0), uint64(trial)); f.Contradicted() {
			t.Errorf("trial %d: %+v", trial, f)
		}
	}
}

// Logits that are all but equal are no shelter: neither a large shift of all, nor one far-off class.
func TestTinyMarginsAreNoShelter(t *testing.T) {
	for name, far := range map[string]float32{"small": 0, "far off": -1e6} {
		random := rand.New(rand.NewPCG(1, 2))
		m := step("logits", 10)
		m.shift = func(row []float32) {
			for c := range row {
				row[c] = float32(random.Float64() / 1000)
			}
			row[9] += far
		}
		if f := found(t, m, blocks(100, 3, .25, 1, false), 1); !f.Contradicted() || f.Beyond > 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A short run pays for about a tenth of itself, or for what finds random answers with probability .999.
func TestEffort(t *testing.T) {
	for _, c := range []struct{ classes, n, answers, most int }{
		{10, 100, 1, 600}, {10, 100, 700, 800}, {10, 100, 5000, 1232}, {2, 100, 100, 1000}, {2, 100, 10_000, 1532}, {10, 1, 100, 600}, {10, 7, 100, 600}, {1000, 100, 10, 600},
	} {
		m := step("classes", c.classes)
		f, w, err := purity.Check(t.Context(), m, blocks(c.n, 3, .25, 1, false), 1, purity.Effort{Answers: c.answers})
		if err != nil || f.Answers > c.most || f.Missed(c.classes) > 1e-3 || w == nil {
			t.Errorf("%+v: %d answers, missed with %g, %v", c, f.Answers, f.Missed(c.classes), err)
		}
		found := 0
		for trial := range 20 {
			m.change = randomly(.05, c.classes, uint64(trial))
			if f, _, _ := purity.Check(t.Context(), m, blocks(c.n, 3, .25, uint64(trial), false), 1, purity.Effort{Answers: c.answers}); f.Contradicted() {
				found++
			}
		}
		if found < 20 {
			t.Errorf("%+v: %d of 20 random models found", c, found)
		}
	}
}

// Where one image takes 10 s, a look of 2 minutes asks few images; where a block is as fast as one image, it goes on for the time there is.
func TestEffortByTime(t *testing.T) {
	for name, c := range map[string]struct {
		each, call   time.Duration // for an image, for a call
		least        int
		from, to     int // answers
		missed, more float64
	}{
		"slow images":              {10 * time.Second, 0, 0, 20, 80, 1, .5},
		"slow images, a long run":  {10 * time.Second, 0, 600, 500, 800, 1e-2, 0},
		"slow calls, fast batches": {0, time.Second, 0, 150, 1300, 1, 0},
		"fast":                     {time.Millisecond, 0, 0, 1232, 1232, 1e-6, 0},
	} {
		var clock time.Time
		m := step("logits", 10)
		m.change = func(classes []int32, _ classifier.Batch) {
			clock = clock.Add(c.call + time.Duration(len(classes))*c.each)
		}
		reports := 0
		f, _, err := purity.Check(t.Context(), m, blocks(100, 3, .25, 1, false), 1, purity.Effort{
			Time: 2 * time.Minute, Least: c.least, Now: func() time.Time { return clock },
			Report: func(asked, of float64) {
				if reports++; asked < 1 || asked > of {
					t.Errorf("%s: %g of %g", name, asked, of)
				}
			},
		})
		if err != nil || f.Answers < c.from || f.Answers > c.to || f.Missed(10) > c.missed || f.Missed(10) < c.more || reports < 10 {
			t.Errorf("%s: %+v in %v, missed with %g, %v", name, f, clock.Sub(time.Time{}), f.Missed(10), err)
		}
	}
	m := step("logits", 10) // what depends on its batch is found by few images, too
	m.change = majority
	slow := purity.Effort{Time: time.Nanosecond}
	if f, _, err := purity.Check(t.Context(), m, blocks(100, 3, .25, 1, false), 1, slow); err != nil || !f.Contradicted() {
		t.Errorf("%+v, %v", f, err)
	}
}

// Softmax in the place of logits; rows of a single one come from toy models, and logits that sum to 1 by chance
// are logits.
func TestProbabilities(t *testing.T) {
	softmax := func(row []float32) {
		largest, sum := slices.Max(row), 0.
		for _, v := range row {
			sum += math.Exp(float64(v - largest))
		}
		for c, v := range row {
			row[c] = float32(math.Exp(float64(v-largest)) / sum)
		}
	}
	one := func(row []float32) {
		at := slices.Index(row, slices.Max(row))
		clear(row)
		row[at] = 1
	}
	for name, c := range map[string]struct {
		shift func([]float32)
		want  bool
	}{
		"logits": {nil, false}, "softmax": {softmax, true}, "one-hot": {one, false},
		"softmax, saturated": {func(row []float32) {
			if row[0] < row[1] {
				softmax(row)
				return
			}
			one(row)
		}, true},
		"half precision": {func(row []float32) {
			softmax(row)
			row[0] += .004
		}, true},
		"some sum to 1": {func(row []float32) {
			if row[0] < row[1] {
				softmax(row)
			}
		}, false},
		"one is negative": {func(row []float32) {
			softmax(row)
			row[0], row[1] = row[0]+2, row[1]-2
		}, false},
	} {
		m := step("logits", 3)
		m.shift = c.shift
		if f := found(t, m, blocks(100, 3, .25, 1, false), 1); f.Probabilities() != c.want {
			t.Errorf("%s: %v", name, f.Probabilities())
		}
	}
	m := step("scores", 3) // that says so
	m.shift = softmax
	if f := found(t, m, blocks(100, 3, .25, 1, false), 1); f.Probabilities() {
		t.Error("probabilities that are called so")
	}
}

// A model that changes after the look is found by its first answers, by logits also where no class changes; a file keeps enough for that.
func TestWitness(t *testing.T) {
	for _, values := range []string{"logits", "scores", "classes"} {
		for _, n := range []int{1, 7, 100} {
			m := step(values, 10)
			b := blocks(n, 3, .25, 1, n == 7)
			_, w, err := purity.Check(t.Context(), m, b, 1, purity.Effort{})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(w.Record())
			var record purity.Record
			if err := json.Unmarshal(text, &record); err != nil || len(text) > 32_000 || len(record.Answers) < 21 || record.Look.Comparisons < 400 {
				t.Errorf("%s, %d: %v, %d bytes", values, n, err, len(text))
			}
			changed := m
			switch values {
			case "classes":
				changed.change = func(classes []int32, _ classifier.Batch) {
					for i := range classes {
						if i%5 == 0 {
							classes[i] = (classes[i] + 1) % 10
						}
					}
				}
			default:
				changed.shift = func(row []float32) { row[0] += .5 }
			}
			for name, c := range map[string]struct {
				m    model
				want bool
			}{"the same": {m, false}, "another": {changed, true}} {
				if f, err := w.Again(t.Context(), c.m, "asked again"); err != nil || f.Contradicted() != c.want || f.Comparisons < 100 {
					t.Errorf("%s, %d, %s: %+v, %v", values, n, name, f, err)
				}
				_, now, err := purity.Check(t.Context(), c.m, b, 1, purity.Effort{})
				if now == nil {
					t.Fatal(err)
				}
				if f := now.Since(record, "asked again"); f.Comparisons != len(record.Answers) || f.Contradicted() != c.want {
					t.Errorf("%s, %d, %s, from a file: %+v", values, n, name, f)
				}
				if _, now, _ := purity.Check(t.Context(), c.m, b, 1, purity.Effort{Time: time.Nanosecond}); n > 1 && values != "classes" {
					if f := now.Since(record, "asked again"); f.Comparisons == 0 || f.Contradicted() != c.want {
						t.Errorf("%s, %d, %s, in a shorter look: %+v", values, n, name, f)
					}
				}
			}
			_, other, _ := purity.Check(t.Context(), m, blocks(n, 3, .25, 2, n == 7), 1, purity.Effort{})
			if f := other.Since(record, ""); f.Comparisons > 0 {
				t.Error("other images are taken for the same")
			}
		}
	}
}

func TestErrorSaysWhatWasFound(t *testing.T) {
	m := step("logits", 10)
	m.change = majority
	f := found(t, m, blocks(100, 1, .25, 1, false), 1)
	err := f.Err("that one")
	var typed *purity.Error
	if !errors.As(err, &typed) || !strings.Contains(err.Error(), "model that one is no deterministic function of one image") || !strings.Contains(err.Error(), "beside") && !strings.Contains(err.Error(), "alone") {
		t.Errorf("%v", err)
	}
	f = purity.Found{}
	if f.Err("x") != nil {
		t.Error("nothing compared is no contradiction")
	}
	if _, _, err := purity.Check(t.Context(), m, nil, 1, purity.Effort{}); err == nil {
		t.Error("no blocks: no error")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := purity.Check(ctx, m, blocks(2, 1, .1, 1, false), 1, purity.Effort{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
