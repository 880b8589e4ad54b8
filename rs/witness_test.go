package rs_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// drifting is a linear model whose threshold moves once, from one call on: a function of one image before, and another one after.
type drifting struct {
	classifier.Linear
	calls *atomic.Int64
	after int64
	by    float64
}

func (m drifting) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if m.calls.Add(1) > m.after {
		m.Bias += m.by
	}
	return m.Linear.Classify(ctx, batch, result)
}

// look gives a witness of a model on noise samples of some grey values.
func look(t *testing.T, m classifier.Classifier) *purity.Witness {
	t.Helper()
	var blocks []classifier.Batch
	for k := range 3 {
		b := classifier.Batch{N: 100}
		for i := range b.N {
			b.Grid = append(b.Grid, int16(40+80*k+i%50))
		}
		blocks = append(blocks, b)
	}
	found, w, err := purity.Check(t.Context(), m, blocks, 1, purity.Effort{})
	if err != nil || found.Contradicted() {
		t.Fatalf("%+v, %v", found, err)
	}
	return w
}

// A model that changes once, between the look and the end or between two runs, gets no claims: the run ends with a *purity.Error, the ledger stays
// open, the file beside it says why, and no later run goes on with it. Of two certain images the classes do not change, so that nothing
// else notices.
func TestModelThatChangesOnceIsNotCertified(t *testing.T) {
	for _, rule := range []rs.Rule{rs.Fixed, rs.Staged, rs.Anytime} {
		for _, between := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "l")
			m := drifting{classifier.Linear{Shape: oneGrey, Weights: []float64{1}, Bias: -.5}, new(atomic.Int64), 1 << 60, .05}
			opt := rs.Options{Sigma: .02, Rule: rule, MaxSamples: 20_000, Ledger: path, Workers: 1}
			with := look(t, m).With(t.Context())
			if rule == rs.Anytime {
				opt.MaxSamples, opt.Until = 0, rs.Until{Samples: 40_000}
			}
			data := greys(oneGrey, always(1), 20, 230, 20, 230)
			calls := m.calls.Load()
			if between {
				ctx, stop := context.WithCancel(with)
				first := stoppingModel{m, stop, m.calls, calls + 120}
				if _, err := rs.Certify(ctx, first, data, opt); !errors.Is(err, context.Canceled) {
					t.Fatalf("%s: %v", rule, err)
				}
				m.after = 0
				moved := m
				with = look(t, moved).With(t.Context())
			} else {
				m.after = calls + 200
			}
			_, err := rs.Certify(with, m, data, opt)
			want := "at the end of the run"
			if between {
				want = "when the run went on"
			}
			if !errors.Is(err, classifier.ErrImpure) || !errors.As(err, new(*purity.Error)) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, between runs %v: %v", rule, between, err)
			}
			found, err := beside.ReadChecks(path)
			if err != nil || !found.Contradicted() {
				t.Errorf("%s, between runs %v: beside the ledger %+v, %v", rule, between, found, err)
			}
			if l, err := ledgerio.Read(path); err != nil || l.Claims != nil && !(between && rule == rs.Anytime) {
				t.Errorf("%s, between runs %v: the ledger is closed: %v", rule, between, err)
			}
			m.after = 1 << 60
			with = look(t, m).With(t.Context())
			if _, err := rs.Certify(with, m, data, opt); err == nil || !strings.Contains(err.Error(), "contradicted before") {
				t.Errorf("%s, between runs %v: goes on: %v", rule, between, err)
			}
		}
	}
}

// stoppingModel cancels a run from one call on.
type stoppingModel struct {
	drifting
	stop  func()
	calls *atomic.Int64
	at    int64
}

func (m stoppingModel) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if m.calls.Load() >= m.at {
		m.stop()
	}
	return m.drifting.Classify(ctx, batch, result)
}

// An honest model is asked again at the end, which changes no byte of its ledger, and a new ledger in the place of a contradicted one begins
// afresh.
func TestWitnessOfAnHonestRun(t *testing.T) {
	m := drifting{classifier.Linear{Shape: oneGrey, Weights: []float64{1}, Bias: -.5}, new(atomic.Int64), 1 << 60, 0}
	path := filepath.Join(t.TempDir(), "l")
	if err := beside.AppendChecks(path, purity.Found{Comparisons: 10, Beyond: 5}); err != nil { // of a ledger that was deleted
		t.Fatal(err)
	}
	opt := rs.Options{Sigma: .1, Rule: rs.Fixed, MaxSamples: 1000, Ledger: path}
	data := greys(oneGrey, always(1), 100, 120)
	if _, err := rs.Certify(look(t, m).With(t.Context()), m, data, opt); err != nil {
		t.Fatal(err)
	}
	if found, err := beside.ReadChecks(path); err != nil || found.Contradicted() || found.Comparisons < 300 {
		t.Errorf("%+v, %v", found, err)
	}
	if first, err := beside.ReadFirst(path); err != nil || len(first.Answers) != 100 {
		t.Errorf("%+v, %v", first, err)
	}
	plain := opt
	plain.Ledger = filepath.Join(t.TempDir(), "l")
	if _, err := rs.Certify(t.Context(), m, data, plain); err != nil {
		t.Fatal(err)
	}
	if string(testkit.Read(t, path)) != string(testkit.Read(t, plain.Ledger)) {
		t.Error("the ledgers differ")
	}
}
