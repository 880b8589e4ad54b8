package rs_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// everyRule is each rule at its defaults but for few samples.
func everyRule() []rs.Options {
	return []rs.Options{
		{Rule: rs.Fixed, MaxSamples: 2000},
		{Rule: rs.Staged, MaxSamples: 2000},
		{Rule: rs.ISS, MaxSamples: 2000, Selection: 200, Tolerance: .05},
		{Rule: rs.Betting, MaxSamples: 2000, Radii: []float64{0, .1, .3}},
	}
}

// One image gets what a run with the same seed gives it, whatever else runs.
func TestCertifyOneAgreesWithCertify(t *testing.T) {
	inner, data := mixed(12)
	for i := range data.IDs {
		data.IDs[i], data.Labels[i] = i, -1
	}
	for _, opt := range everyRule() {
		opt.Sigma, opt.Seed = .25, 11
		var wait sync.WaitGroup
		for i := range data.Len() {
			alone := *data.Images
			alone.IDs, alone.Labels, alone.Pixels = []int{0}, []int{-1}, data.Pixels[i:i+1]
			want := certify(t, inner, memory{&alone}, opt).Rows[0]
			wait.Go(func() {
				got, err := rs.CertifyOne(t.Context(), inner, data.Image(i), opt)
				if err != nil || got.Row != want || got.Cut || got.Seed != 11 {
					t.Errorf("%s: image %d: %+v, %v; want %+v", opt.Rule, i, got, err, want)
				}
			})
		}
		wait.Wait()
	}
}

// blocking answers so many calls; at the next one the deadline comes, and ends it.
type blocking struct {
	classifier.Classifier
	left  *atomic.Int64
	comes func()
}

func (m blocking) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if m.left.Add(-1) < 0 {
		m.comes()
		<-ctx.Done()
		return ctx.Err()
	}
	return m.Classifier.Classify(ctx, batch, result)
}

// deadline is a context whose deadline comes when it is told, on a machine of any speed.
type deadline struct {
	context.Context
	ended chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.ended }

func (d deadline) Err() error {
	select {
	case <-d.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// untilDeadline makes a model that answers so many calls, and the context that ends then.
func untilDeadline(t *testing.T, inner classifier.Classifier, calls int64) (context.Context, classifier.Classifier) {
	ctx := deadline{t.Context(), make(chan struct{})}
	m := blocking{inner, new(atomic.Int64), sync.OnceFunc(func() { close(ctx.ended) })}
	m.left.Store(calls)
	return ctx, m
}

// The ten seconds of grace for a block under way pass at once.
func TestCertifyOneAtADeadline(t *testing.T) { synctest.Test(t, certifyOneAtADeadline) }

func certifyOneAtADeadline(t *testing.T) {
	image := make([]uint8, small.Len())
	constant := classifier.Constant{Shape: small, Classes: 3, Class: 2}
	for _, opt := range everyRule() {
		opt.Sigma, opt.Workers = .25, 1
		for _, blocks := range []int64{0, 1, 7} {
			ctx, model := untilDeadline(t, constant, blocks)
			c, err := rs.CertifyOne(ctx, model, image, opt)
			anytime := opt.Rule == rs.Staged || opt.Rule == rs.Betting
			if !anytime || blocks < 2 {
				if !errors.Is(err, context.DeadlineExceeded) || c.Certified() || c.Cut || c.Radius != 0 {
					t.Errorf("%s, %d blocks: %+v, %v; want the context's error", opt.Rule, blocks, c, err)
				}
				continue
			}
			// Of 600 samples Staged has looked at 400, and Betting certified all it can at 200 hits: .1 needs
			// p > .655, .3 needs .885.
			if err != nil {
				t.Errorf("%s, %d blocks: %v", opt.Rule, blocks, err)
			} else if opt.Rule == rs.Staged && (!c.Cut || c.N != 400 || c.K != 400 || c.Class != 2 || c.Passes != 500 || !(c.Radius > .5)) {
				t.Errorf("%s: %+v", opt.Rule, c)
			} else if opt.Rule == rs.Betting && (c.Cut || c.Radius != .3 || c.Class != 2) {
				t.Errorf("%s: %+v", opt.Rule, c)
			}
		}
	}
	// A radius that takes more samples: at the cut the smaller one stands.
	ctx, model := untilDeadline(t, constant, 4)
	c, err := rs.CertifyOne(ctx, model, image, rs.Options{Sigma: .25, Rule: rs.Betting, Radii: []float64{.25, .5}, Workers: 1})
	if err != nil || !c.Cut || c.Class != 2 || c.Radius != .25 || c.N != 100 || c.Passes != 400 || !strings.Contains(c.String(), "cut") {
		t.Errorf("%+v, %v", c, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rs.CertifyOne(cancelled, constant, image, rs.Options{Sigma: .25}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The derived seed depends on model, image and settings, and on nothing else.
func TestSeedOfOneImage(t *testing.T) {
	image := make([]uint8, small.Len())
	base := classifier.Constant{Shape: small, Classes: 3, Class: 2}
	seed := func(m classifier.Classifier, image []uint8, opt rs.Options) uint64 {
		t.Helper()
		opt.Sigma, opt.MaxSamples = .25, 400
		c, err := rs.CertifyOne(t.Context(), m, image, opt)
		if err != nil {
			t.Fatal(err)
		}
		return c.Seed
	}
	same := seed(base, image, rs.Options{})
	if seed(base, image, rs.Options{Workers: 3, Alpha: .001, Tolerance: .01}) != same {
		t.Error("the seed depends on what it should not")
	}
	other := make([]uint8, small.Len())
	other[3] = 1
	seen := map[uint64]bool{same: true}
	for _, s := range []uint64{
		seed(base, other, rs.Options{}),
		seed(classifier.Constant{Shape: small, Classes: 3, Class: 1}, image, rs.Options{}),
		seed(base, image, rs.Options{Alpha: .01}),
		seed(base, image, rs.Options{Rule: rs.Fixed}),
		seed(base, image, rs.Options{Rule: rs.ISS}),
		seed(base, image, rs.Options{Rule: rs.ISS, Tolerance: .02}),
		seed(base, image, rs.Options{Rule: rs.ISS, Tolerance: .02, Relative: true}),
		seed(base, image, rs.Options{Rule: rs.Betting, Radii: []float64{.1}}),
		seed(base, image, rs.Options{Rule: rs.Betting, Radii: []float64{.1, .2}}),
		seed(base, image, rs.Options{Rule: rs.Betting, Radii: []float64{.1}, Futility: .01}),
	} {
		if seen[s] {
			t.Errorf("the seed %d comes twice", s)
		}
		seen[s] = true
	}
}

func TestCertifyOneRefuses(t *testing.T) {
	m := classifier.Constant{Shape: small, Classes: 3}
	image := make([]uint8, small.Len())
	for want, try := range map[string]func() error{
		"has 5 values": func() error {
			_, err := rs.CertifyOne(t.Context(), m, image[1:], rs.Options{Sigma: 1})
			return err
		},
		"Sigma is 0": func() error { _, err := rs.CertifyOne(t.Context(), m, image, rs.Options{}); return err },
		"Ledger or Shard": func() error {
			_, err := rs.CertifyOne(t.Context(), m, image, rs.Options{Sigma: 1, Ledger: "x"})
			return err
		},
		"Ledger or Shard is ": func() error {
			_, err := rs.CertifyOne(t.Context(), m, image, rs.Options{Sigma: 1, Shard: rs.Shard{Count: 2}})
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Shards by images have every image once, with the rows of the whole run, and the whole run's seed; those by
// blocks have every block once, with the counts of the whole run.
func TestShards(t *testing.T) {
	inner, data := mixed(11)
	for _, opt := range append(everyRule(), rs.Options{Rule: rs.Fixed, MaxSamples: 1000, Selection: 300}) {
		opt.Sigma = .25
		opt.Ledger = t.TempDir() + "/whole"
		whole := certify(t, inner, data, opt)
		for _, by := range []string{"", ledger.ShardBlocks} {
			if by != "" && opt.Rule != rs.Fixed {
				opt.Shard = rs.Shard{By: by, Count: 2}
				if _, err := rs.Certify(t.Context(), inner, data, opt); err == nil || !strings.Contains(err.Error(), "split it by images") {
					t.Errorf("%s by blocks: %v", opt.Rule, err)
				}
				continue
			}
			const count = 3
			rows := make(rs.Rows, data.Len())
			sums := map[int]map[int32]int{}
			for i := range count {
				opt.Shard = rs.Shard{By: by, Index: i, Count: count}
				opt.Ledger = t.TempDir() + "/part"
				run := certify(t, inner, data, opt)
				if run.Header.Seed != whole.Header.Seed || run.Header.SeedChosen || run.Header.Data != whole.Header.Data {
					t.Errorf("%s: header of the shard %+v", opt.Rule, run.Header)
				}
				l, err := ledgerio.Read(opt.Ledger)
				if err != nil || l.Claims == nil {
					t.Fatal(l, err)
				}
				for _, look := range l.Looks {
					for _, c := range look.Counts {
						if sums[look.Image] == nil {
							sums[look.Image] = map[int32]int{}
						}
						sums[look.Image][c.Class] += c.N
					}
				}
				if by != "" {
					if len(run.Rows) != 0 || len(l.Claims.Images) != 0 || l.Claims.ACR != "" {
						t.Errorf("a shard by blocks claims %+v", l.Claims)
					}
					continue
				}
				if !run.Complete() || len(run.Rows) != (data.Len()-i+count-1)/count {
					t.Errorf("%s: %d rows in shard %d", opt.Rule, len(run.Rows), i)
				}
				for k, row := range run.Rows {
					rows[i+k*count] = row
				}
			}
			if by == "" && !reflect.DeepEqual(rows, whole.Rows) {
				t.Errorf("%s: the rows of the shards differ:\n%+v\n%+v", opt.Rule, rows, whole.Rows)
			}
			opt.Shard, opt.Ledger = rs.Shard{}, t.TempDir()+"/whole"
			certify(t, inner, data, opt)
			l, err := ledgerio.Read(opt.Ledger)
			if err != nil {
				t.Fatal(err)
			}
			for _, look := range l.Looks {
				for _, c := range look.Counts {
					sums[look.Image][c.Class] -= c.N
				}
			}
			for image, counts := range sums {
				for class, n := range counts {
					if n != 0 {
						t.Errorf("%s %q: image %d, class %d: %d noise samples too many", opt.Rule, by, image, class, n)
					}
				}
			}
		}
	}
	for want, shard := range map[string]rs.Shard{
		"3 of 3": {Index: 3, Count: 3}, "-1 of 3": {Index: -1, Count: 3}, "2 of 0": {Index: 2}, `by "rows"`: {By: "rows", Count: 2},
		"would be empty": {Index: 12, Count: 13}, "30 shards of 21 blocks": {By: ledger.ShardBlocks, Count: 30},
	} {
		_, err := rs.Certify(t.Context(), inner, data, rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 2000, Shard: shard})
		var option *rule.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", shard, err, want)
		}
	}
}
