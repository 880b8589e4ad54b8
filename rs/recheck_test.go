package rs_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// turning is a good model that from one call on changes the classes that it gives.
type turning struct {
	classifier.Classifier
	calls  *atomic.Int64
	after  int64
	change func(classes []int32)
}

func (m turning) Info() (classifier.Info, error) {
	info, err := m.Classifier.Info()
	info.Logits = false
	return info, err
}

func (m turning) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if result.Scores != nil {
		return errors.New("classes alone")
	}
	err := m.Classifier.Classify(ctx, batch, result)
	if m.calls.Add(1) > m.after {
		m.change(result.Classes)
	}
	return err
}

// A model that turns bad in the middle of a run, after whatever was tested before, stops it; what was decided stays, and the contradiction
// is kept beside the ledger. Without the check all of these run through.
func TestRunStopsWhereAnAnswerDependsOnItsBatch(t *testing.T) {
	majority := func(classes []int32) {
		votes := map[int32]int{}
		best := classes[0]
		for _, c := range classes {
			if votes[c]++; votes[c] > votes[best] {
				best = c
			}
		}
		for i := range classes {
			classes[i] = best
		}
	}
	guess := func(classes []int32) {
		for i := range classes {
			if rand.IntN(10) < 3 {
				classes[i] = rand.Int32N(2)
			}
		}
	}
	for name, c := range map[string]struct {
		images int
		after  int64
		block  int
		change func([]int32)
	}{
		"majority from the start":         {1, 0, 100, majority},
		"majority of one image, later on": {1, 40, 100, majority},
		"majority of ten images":          {10, 100, 100, majority},
		"random, blocks of one":           {3, 100, 1, guess},
		"random":                          {10, 100, 100, guess},
	} {
		path := filepath.Join(t.TempDir(), "l")
		values := make([]uint8, c.images)
		for i := range values {
			values[i] = uint8(110 + 5*i)
		}
		// One image of byte 110: p of its class is .74, so that the majority of a block is more certain than the model.
		m := turning{classifier.Linear{Shape: oneGrey, Weights: []float64{1}, Bias: -.5}, new(atomic.Int64), c.after, c.change}
		opt := rs.Options{Sigma: .1, Rule: rs.Fixed, MaxSamples: 100_000, Block: c.block, Ledger: path}
		run, err := rs.Certify(t.Context(), m, greys(oneGrey, always(1), values...), opt)
		var contradiction *purity.Error
		if !errors.As(err, &contradiction) || !strings.Contains(err.Error(), "during the run") {
			t.Errorf("%s: %v; expected a *purity.Error", name, err)
			continue
		}
		found, err := beside.ReadChecks(path)
		if err != nil || !found.Contradicted() || found.Comparisons < contradiction.Found.Comparisons {
			t.Errorf("%s: the file says %+v, %v; the error %+v", name, found, err, contradiction.Found)
		}
		if again, err := rs.Open(path); err != nil || len(again.Rows) != len(run.Rows) {
			t.Errorf("%s: the ledger has %v, %v; the run %d rows", name, again, err, len(run.Rows))
		}
	}
}

// An honest run asks again, at a small cost, says so beside the ledger, and changes no byte of it.
func TestHonestRunAsksAgain(t *testing.T) {
	var texts []string
	for _, workers := range []int{1, 4} {
		path := filepath.Join(t.TempDir(), "l")
		m := turning{classifier.Linear{Shape: oneGrey, Weights: []float64{1}, Bias: -.5}, new(atomic.Int64), 1 << 62, nil}
		run, err := rs.Certify(t.Context(), m, greys(oneGrey, always(1), 100, 120, 140, 160), rs.Options{Sigma: .1, Rule: rs.Fixed, MaxSamples: 100_000, Ledger: path, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		found, err := beside.ReadChecks(path)
		if err != nil || found.Contradicted() || found.Comparisons < 30*15 || found.Changed != 0 {
			t.Errorf("%+v, %v", found, err)
		}
		blocks := int64(run.Passes() / 100)
		if extra := m.calls.Load() - blocks; extra > blocks/50 || int64(found.Answers) != 100*extra {
			t.Errorf("%d calls beside %d blocks; %+v", extra, blocks, found)
		}
		texts = append(texts, string(testkit.Read(t, path)))
	}
	if texts[0] != texts[1] {
		t.Error("the ledgers differ")
	}
	if found, err := beside.ReadChecks(filepath.Join(t.TempDir(), "none")); err != nil || found.Comparisons != 0 {
		t.Errorf("%+v, %v of no file", found, err)
	}
}
