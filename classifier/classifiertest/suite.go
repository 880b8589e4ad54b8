// Package classifiertest is the battery of tests that every engine passes before a
// certificate may rest on it.
package classifiertest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
)

// Options says what an engine promises beyond the interface. The zero value is the
// weakest promise.
type Options struct {
	// ArrangementFree promises that the class and scores of an image are the same, bit
	// for bit, in a batch of any size and at any place. Without it they must agree within
	// Tolerance, and classes where the two best scores are further apart than that.
	ArrangementFree bool

	// Tolerance bounds the difference of scores between arrangements, and between the
	// grid and the real form of an image, where values are divided by 255 at different
	// places. 0 means 1e-4.
	Tolerance float64

	// Batches are the sizes tried. Empty means 1, 7, 100 and 1000.
	Batches []int

	// Miss, where it is set, is a batch that the engine can evaluate and whose rows are
	// known to be a Miss or not.
	Miss     *classifier.Batch
	MissRows []bool
}

// Run runs the battery. The function open gives a classifier and is called more than once.
func Run(t *testing.T, open func(t *testing.T) classifier.Classifier, options Options) {
	options.Tolerance = cmp.Or(options.Tolerance, 1e-4)
	if len(options.Batches) == 0 {
		options.Batches = []int{1, 7, 100, 1000}
	}
	s := suite{Options: options, open: open}
	t.Run("Info", s.info)
	t.Run("Answers", s.answers)
	t.Run("Logits", s.logits)
	t.Run("Forms", s.forms)
	t.Run("Arrangements", s.arrangements)
	t.Run("Repeat", s.repeat)
	t.Run("Concurrent", s.concurrent)
	t.Run("BadBatches", s.badBatches)
	t.Run("Cancelled", s.cancelled)
	t.Run("NotFinite", s.notFinite)
}

type suite struct {
	Options
	open func(t *testing.T) classifier.Classifier
}

func (s suite) model(t *testing.T) (classifier.Classifier, classifier.Info) {
	t.Helper()
	model := s.open(t)
	info, err := model.Info()
	if err != nil {
		t.Fatalf("Info: %v", err)
	}
	return model, info
}

// inputs are n noisy images: bytes plus Gaussian noise of 64 steps, off the range too.
func inputs(info classifier.Info, n int) classifier.Batch {
	random := rand.New(rand.NewPCG(3, uint64(n)))
	grid := make([]int16, n*info.Shape.Len())
	for i := range grid {
		grid[i] = int16(random.IntN(pixel.Steps+1)) + int16(64*random.NormFloat64())
	}
	return classifier.Batch{N: n, Grid: grid}
}

func classify(t *testing.T, model classifier.Classifier, info classifier.Info,
	batch classifier.Batch) classifier.Result {
	t.Helper()
	result := classifier.Result{
		Classes: make([]int32, batch.N),
		Scores:  make([]float32, batch.N*info.Classes),
	}
	if err := model.Classify(t.Context(), batch, &result); err != nil {
		t.Fatalf("Classify of %d images: %v", batch.N, err)
	}
	return result
}

func (s suite) info(t *testing.T) {
	model, info := s.model(t)
	if !info.Shape.Valid() || info.Classes < 1 {
		t.Errorf("shape %v and %d classes; expected positive numbers", info.Shape, info.Classes)
	}
	if info.Name == "" || info.Identity.Weights == "" || info.Identity.Engine == "" ||
		info.Identity.EngineVersion == "" {
		t.Errorf("a name of the model or its identity is empty: %+v", info)
	}
	if again, err := model.Info(); err != nil || again != info {
		t.Errorf("Info changed between calls: %+v, then %+v (%v)", info, again, err)
	}
	if other, err := s.open(t).Info(); err != nil || other != info {
		t.Errorf("Info of the same model, opened again, differs: %+v, then %+v (%v)", info, other, err)
	}
	batch := inputs(info, 1)
	classify(t, model, info, batch)
	if again, err := model.Info(); err != nil || again != info {
		t.Errorf("Info changed with the first batch: %+v, then %+v (%v)", info, again, err)
	}
}

// answers checks that class and scores come from the same evaluation: the class is the
// first of the largest scores, and scores are probabilities.
func (s suite) answers(t *testing.T) {
	model, info := s.model(t)
	const n, spare = 100, 3
	batch := inputs(info, n)
	result := classifier.Result{
		Classes: make([]int32, n+spare),
		Scores:  make([]float32, (n+spare)*info.Classes),
	}
	for i := range result.Classes {
		result.Classes[i] = -7
	}
	for i := range result.Scores {
		result.Scores[i] = -7
	}
	if err := model.Classify(t.Context(), batch, &result); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		class, row := result.Classes[i], scoresOf(result, info, i)
		if class == classifier.Miss {
			for _, v := range row {
				if v != 0 {
					t.Fatalf("image %d is a Miss with scores %v; expected zeros", i, row)
				}
			}
			continue
		}
		if class < 0 || int(class) >= info.Classes {
			t.Fatalf("image %d has class %d; expected 0 to %d or Miss", i, class, info.Classes-1)
		}
		sum := 0.0
		for c, v := range row {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("image %d: score %g of class %d; expected a probability", i, v, c)
			}
			if v > row[class] {
				t.Fatalf("image %d has class %d, but a larger score for %d: %v", i, class, c, row)
			}
			sum += float64(v)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("image %d: scores sum to %g", i, sum)
		}
	}
	for _, class := range result.Classes[n:] {
		if class != -7 {
			t.Fatal("a class behind the batch was written")
		}
	}
	for _, v := range result.Scores[n*info.Classes:] {
		if v != -7 {
			t.Fatal("a score behind the batch was written")
		}
	}

	alone := classifier.Result{Classes: make([]int32, n)}
	if err := model.Classify(t.Context(), batch, &alone); err != nil {
		t.Fatal(err)
	}
	for i, class := range alone.Classes {
		if class != result.Classes[i] {
			t.Fatalf("image %d: class %d with scores, %d without", i, result.Classes[i], class)
		}
	}
	if alone.Scores != nil {
		t.Error("scores were made that nobody wanted")
	}
}

// logits checks that the logits of a model that has some are those that its class and scores come from, and that
// another model refuses to give any.
func (s suite) logits(t *testing.T) {
	model, info := s.model(t)
	const n, spare = 20, 2
	batch := inputs(info, n)
	result := classifier.Result{Classes: make([]int32, n), Logits: make([]float32, (n+spare)*info.Classes)}
	for i := range result.Logits {
		result.Logits[i] = -7
	}
	err := model.Classify(t.Context(), batch, &result)
	if !info.Logits {
		if err == nil {
			t.Error("Info says that there are no logits; expected an error where they are wanted")
		}
		return
	}
	if err != nil {
		t.Fatalf("Info says that there are logits: %v", err)
	}
	scored := classify(t, model, info, batch)
	for i := range n {
		row, scores := result.Logits[i*info.Classes:(i+1)*info.Classes], scoresOf(scored, info, i)
		if result.Classes[i] != scored.Classes[i] {
			t.Fatalf("image %d: class %d with logits, %d with scores", i, result.Classes[i], scored.Classes[i])
		}
		if result.Classes[i] == classifier.Miss {
			for _, v := range row {
				if v != 0 {
					t.Fatalf("image %d is a Miss with logits %v; expected zeros", i, row)
				}
			}
			continue
		}
		best, sum := row[result.Classes[i]], 0.0
		for _, v := range row {
			if v > best {
				t.Fatalf("image %d has class %d, but another logit is larger: %v", i, result.Classes[i], row)
			}
			sum += math.Exp(float64(v) - float64(best))
		}
		for c, v := range row {
			if want := math.Exp(float64(v)-float64(best)) / sum; math.Abs(want-float64(scores[c])) > s.Tolerance {
				t.Fatalf("image %d: logits %v have the softmax %g for class %d, the score is %g", i, row, want, c,
					scores[c])
			}
		}
	}
	for _, v := range result.Logits[n*info.Classes:] {
		if v != -7 {
			t.Fatal("a logit behind the batch was written")
		}
	}
	short := classifier.Result{Classes: make([]int32, n), Logits: make([]float32, n*info.Classes-1)}
	if err := model.Classify(t.Context(), batch, &short); err == nil {
		t.Error("too few logits: no error")
	}
}

func (s suite) forms(t *testing.T) {
	model, info := s.model(t)
	grid := inputs(info, 100)
	s.compare(t, info, "grid", classify(t, model, info, grid), "real", classify(t, model, info, realForm(grid)), false)
}

func realForm(grid classifier.Batch) classifier.Batch {
	values := make([]float32, len(grid.Grid))
	for i, v := range grid.Grid {
		values[i] = float32(v) / pixel.Steps
	}
	return classifier.Batch{N: grid.N, Real: values}
}

func (s suite) arrangements(t *testing.T) {
	model, info := s.model(t)
	largest := 0
	for _, n := range s.Batches {
		largest = max(largest, n)
	}
	all, size := inputs(info, largest), info.Shape.Len()
	want := classify(t, model, info, all)
	for _, n := range s.Batches {
		got := classifier.Result{
			Classes: make([]int32, largest),
			Scores:  make([]float32, largest*info.Classes),
		}
		whole := largest / n * n // no batch of another size
		if n == 1 {
			whole = min(whole, 25)
		}
		for start := 0; start < whole; start += n {
			part := classify(t, model, info, classifier.Batch{N: n, Grid: all.Grid[start*size : (start+n)*size]})
			copy(got.Classes[start:], part.Classes)
			copy(got.Scores[start*info.Classes:], part.Scores)
		}
		s.compare(t, info, "one batch", head(want, info, whole), "batches", head(got, info, whole), s.ArrangementFree)
	}

	reversed := classifier.Batch{N: largest, Grid: make([]int16, len(all.Grid))}
	for i := range largest {
		copy(reversed.Grid[i*size:(i+1)*size], all.Grid[(largest-1-i)*size:])
	}
	back := classify(t, model, info, reversed)
	unreversed := classifier.Result{Classes: make([]int32, largest), Scores: make([]float32, largest*info.Classes)}
	for i := range largest {
		unreversed.Classes[i] = back.Classes[largest-1-i]
		copy(scoresOf(unreversed, info, i), scoresOf(back, info, largest-1-i))
	}
	s.compare(t, info, "in order", want, "reversed", unreversed, s.ArrangementFree)
}

func head(r classifier.Result, info classifier.Info, n int) classifier.Result {
	return classifier.Result{Classes: r.Classes[:n], Scores: r.Scores[:n*info.Classes]}
}

func (s suite) repeat(t *testing.T) {
	model, info := s.model(t)
	batch := inputs(info, 100)
	first := classify(t, model, info, batch)
	kept := classifier.Batch{N: batch.N, Grid: append([]int16(nil), batch.Grid...)}
	s.compare(t, info, "first", first, "second", classify(t, model, info, batch), true)
	for i, v := range batch.Grid {
		if v != kept.Grid[i] {
			t.Fatal("Classify changed the batch")
		}
	}
	reopened := s.open(t)
	s.compare(t, info, "first", first, "opened again", classify(t, reopened, info, batch), true)
}

func (s suite) concurrent(t *testing.T) {
	model, info := s.model(t)
	const callers = 4
	batches := make([]classifier.Batch, callers)
	for i := range batches {
		batches[i] = inputs(info, 100+i%2)
		if i > 1 {
			batches[i] = realForm(batches[i])
		}
	}
	// All at once first: opening and compiling are under test too.
	got := make([]classifier.Result, callers)
	errs := make([]error, callers)
	var wait sync.WaitGroup
	for i, batch := range batches {
		wait.Go(func() {
			got[i] = classifier.Result{Classes: make([]int32, batch.N), Scores: make([]float32, batch.N*info.Classes)}
			for range 3 {
				errs[i] = errors.Join(errs[i], model.Classify(t.Context(), batch, &got[i]))
			}
		})
	}
	wait.Wait()
	for i, batch := range batches {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		s.compare(t, info, "concurrently", got[i], "alone", classify(t, model, info, batch), true)
	}
}

func (s suite) badBatches(t *testing.T) {
	model, info := s.model(t)
	const n = 2
	good := inputs(info, n)
	room := func() *classifier.Result {
		return &classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*info.Classes)}
	}
	for name, c := range map[string]struct {
		batch  classifier.Batch
		result *classifier.Result
	}{
		"neither form":    {classifier.Batch{N: n}, room()},
		"both forms":      {classifier.Batch{N: n, Grid: good.Grid, Real: realForm(good).Real}, room()},
		"grid too short":  {classifier.Batch{N: n, Grid: good.Grid[1:]}, room()},
		"grid too long":   {classifier.Batch{N: n - 1, Grid: good.Grid}, room()},
		"real too short":  {classifier.Batch{N: n, Real: realForm(good).Real[1:]}, room()},
		"no images":       {classifier.Batch{N: 0, Grid: []int16{}}, room()},
		"negative N":      {classifier.Batch{N: -1, Grid: good.Grid}, room()},
		"no result":       {good, nil},
		"too few classes": {good, &classifier.Result{Classes: make([]int32, n-1)}},
		"too few scores": {good, &classifier.Result{Classes: make([]int32, n), Scores: make([]float32,
			n*info.Classes-1)}},
		"scores, no class": {good, &classifier.Result{Scores: make([]float32, n*info.Classes)}},
	} {
		if err := model.Classify(t.Context(), c.batch, c.result); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	classify(t, model, info, good) // an error leaves the model usable
}

func (s suite) cancelled(t *testing.T) {
	model, info := s.model(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result := classifier.Result{Classes: make([]int32, 2)}
	if err := model.Classify(ctx, inputs(info, 2), &result); !errors.Is(err, context.Canceled) {
		t.Errorf("Classify with a cancelled context: %v; expected context.Canceled", err)
	}
}

// notFinite checks that an image with a NaN or an infinity is a Miss and leaves its
// neighbours alone, and the rows that the options name.
func (s suite) notFinite(t *testing.T) {
	model, info := s.model(t)
	const n = 7
	batch := realForm(inputs(info, n))
	want := classify(t, model, info, batch)
	size := info.Shape.Len()
	batch.Real[2*size] = float32(math.NaN())
	batch.Real[5*size-1] = float32(math.Inf(-1))
	got := classify(t, model, info, batch)
	for i, class := range got.Classes {
		expected := want.Classes[i]
		if i == 2 || i == 4 {
			expected = classifier.Miss
		}
		if class != expected {
			t.Errorf("image %d of %d, with NaN in image 2 and -Inf in image 4: class %d; expected %d", i, n, class,
				expected)
		}
	}

	if s.Miss == nil {
		return
	}
	known := classify(t, model, info, *s.Miss)
	for i, miss := range s.MissRows {
		if got := known.Classes[i] == classifier.Miss; got != miss {
			t.Errorf("image %d: Miss is %t; expected %t", i, got, miss)
		}
	}
}

func scoresOf(r classifier.Result, info classifier.Info, i int) []float32 {
	return r.Scores[i*info.Classes : (i+1)*info.Classes]
}

// compare reports the first image whose answers differ: at all where exact, else by more
// than the tolerance.
func (s suite) compare(t *testing.T, info classifier.Info, nameA string, a classifier.Result, nameB string,
	b classifier.Result, exact bool) {
	t.Helper()
	for i := range a.Classes {
		rowA, rowB := scoresOf(a, info, i), scoresOf(b, info, i)
		difference := 0.0
		for c := range rowA {
			difference = max(difference, math.Abs(float64(rowA[c])-float64(rowB[c])))
		}
		switch {
		case exact && (a.Classes[i] != b.Classes[i] || difference != 0),
			difference > s.Tolerance,
			a.Classes[i] != b.Classes[i] && margin(rowA) > s.Tolerance:
			t.Fatalf("image %d: %s gives class %d and scores %v, %s gives %d and %v",
				i, nameA, a.Classes[i], rowA, nameB, b.Classes[i], rowB)
		}
	}
}

// margin is the difference of the two best scores.
func margin(row []float32) float64 {
	first, second := float32(0), float32(0)
	for _, v := range row {
		switch {
		case v > first:
			first, second = v, first
		case v > second:
			second = v
		}
	}
	return float64(first - second)
}
