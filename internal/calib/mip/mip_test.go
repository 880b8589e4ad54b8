package mip

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/certspec/certspec/calib"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// synthetic is the instance of section 6.7 of the specification: clean confidences
// min(.999, .3+.7(1−U^2.2)), correctness Bernoulli(z−.05), the standard interval of half-width .006 at
// R/σ = shift.
func synthetic(seed uint64, n, bins int, shift float64) (p *Program, clean []float64) {
	r := rand.New(rand.NewPCG(seed, 5))
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	quantile := func(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
	var correct []bool
	var lower, upper []float64
	for range n {
		z := min(.999, .3+.7*(1-math.Pow(r.Float64(), 2.2)))
		clean = append(clean, z)
		correct = append(correct, r.Float64() < min(.99, max(.02, z-.05)))
		lower = append(lower, phi(quantile(max(0, z-.006))-shift))
		upper = append(upper, phi(quantile(min(1, z+.006))+shift))
	}
	return must(New(correct, lower, upper, must(calib.Uniform(bins, calib.LeftClosed)))), clean
}

func exact(t *testing.T, p *Program) float64 {
	t.Helper()
	worst, err := new(calib.Workspace).ExactCCE(p.Correct, p.Lower, p.Upper, p.Bins)
	if err != nil {
		t.Fatal(err)
	}
	return worst.CCE
}

// Our form against the literal one, step by step: iterates, Lagrangian, penalty groups. The method itself
// amplifies rounding errors where an iterate comes close to the centre of the sphere, hence the few steps; the
// fast growth takes the penalty to its bound within them.
func TestADMMAgainstLiteral(t *testing.T) {
	for _, bins := range []int{2, 4, 7, 15} {
		for _, o := range []ADMM{{}, {StepA: .01, StepZ: .01, Growth: 1.5, Rho: .1}} {
			p, clean := synthetic(uint64(bins), 30, bins, .7)
			o = must(o.withDefaults())
			if bins == 2 {
				p.Bins = must(calib.NewBins([]float64{0, .9, 1}, calib.LeftClosed))
				p = must(New(p.Correct, p.Lower, p.Upper, p.Bins))
			}
			want, got := newLiteral(p, clean, o), newIterate(p, clean, o)
			for step := range 25 {
				if bins == 2 && step == 0 { // start off the centre of the sphere, where the literal form divides by 0
					for x := range want.a {
						want.a[x] = .4
						want.q1[x], want.q2[x] = .4, .4
					}
					for i := range 30 {
						for m := range 2 {
							k, j := got.at(i, m)
							got.a[k][j], got.v1[k][j], got.v2[k][j] = .4, .4, -.1
							if m < p.low[i] || m > p.high[i] {
								got.valid[i/lanes][j] = .4
							}
						}
						got.unique[i/lanes][i%lanes] = -.2
					}
				}
				want.step(nil)
				got.stepAssignment()
				got.stepConfidences()
				record := got.record(step, got.projected())
				lagrangian := want.lagrangian()
				for name, pair := range map[string][2]float64{
					"Lagrangian": {record.Lagrangian, lagrangian}, "box": {record.BoxPenalty, want.box}, "sphere": {record.SpherePenalty, want.sphere},
					"interval": {record.IntervalPenalty, want.interval}, "unique": {record.UniquePenalty, want.unique}, "valid": {record.ValidPenalty, want.notValid},
				} {
					if relative(pair[0], pair[1]) > 1e-7 {
						t.Fatalf("%d bins, %+v, step %d: %s %v, want %v", bins, o, step, name, pair[0], pair[1])
					}
				}
				for x := range want.a {
					k, j := got.at(x/bins, x%bins)
					if relative(got.a[k][j], want.a[x]) > 1e-9 || relative(got.z[k][j], want.z[x]) > 1e-9 {
						t.Fatalf("%d bins, %+v, step %d, entry %d: a %v, z %v, want %v, %v", bins, o, step, x, got.a[k][j], got.z[k][j], want.a[x], want.z[x])
					}
				}
				want.grow()
				got.grow()
			}
		}
	}
}

// Both forms make the same roundings: they agree to the last bit.
func TestVectorIsPlain(t *testing.T) {
	if !vector {
		t.Skip("no vector form in this build or on this processor")
	}
	defer func() { vector = true }()
	for _, bins := range []int{1, 2, 3, 4, 5, 8, 15, 33} {
		p, clean := synthetic(uint64(bins), 50, bins, .4)
		o := ADMM{Steps: 400, StepA: .01, StepZ: .003, Growth: 1.02, Seed: 9}
		vector = true
		fast := must(p.ADMM(t.Context(), clean, o))
		vector = false
		plain := must(p.ADMM(t.Context(), clean, o))
		if fast.Best != plain.Best || fast.Final != plain.Final || fast.Residuals != plain.Residuals ||
			!slices.Equal(fast.Bin, plain.Bin) || !slices.Equal(fast.Confidence, plain.Confidence) {
			t.Errorf("%d bins: vector form %+v, plain form %+v", bins, fast, plain)
		}
	}
}

// Section 11.F (3) and (7): feasible, never above the optimum, the best kept, the same again.
func TestADMMIsFeasible(t *testing.T) {
	for seed := range uint64(6) {
		p, clean := synthetic(seed, 42, 10, .1+.3*float64(seed))
		o := ADMM{Steps: 600, StepA: .01, Record: true, Start: []Start{Clean, Brier, Middle}[seed%3]}
		run := must(p.ADMM(t.Context(), clean, o))
		value, err := p.Value(run.Bin, run.Confidence)
		if err != nil || math.Abs(value-run.Best) > 1e-14 {
			t.Errorf("seed %d: best %v, its assignment is worth %v, %v", seed, run.Best, value, err)
		}
		if cce := exact(t, p); run.Best > cce {
			t.Errorf("seed %d: best %v exceeds the optimum %v", seed, run.Best, cce)
		}
		most, at := math.Inf(-1), 0
		for _, r := range run.Trace {
			if r.Projected > most {
				most, at = r.Projected, r.Step
			}
		}
		if most != run.Best || at != run.BestStep || len(run.Trace) != run.Done || run.Trace[run.Done-1].Projected != run.Final {
			t.Errorf("seed %d: best %v at %d, the trace says %v at %d", seed, run.Best, run.BestStep, most, at)
		}
		if last := run.Trace[run.Done-1]; last.Unique.Max != run.Residuals.Unique || last.Binary.L2 < last.Binary.Max {
			t.Errorf("seed %d: residuals %+v, last record %+v", seed, run.Residuals, last)
		}
		if len(run.Snapshots) != 3 || len(run.Snapshots[0]) != 100 || run.Snapshots[0][0] != .1 || len(run.Snapshots[run.Done]) != 100 {
			t.Errorf("seed %d: snapshots %+v", seed, run.Snapshots)
		}
		again := must(p.ADMM(t.Context(), clean, o))
		if again.Best != run.Best || again.Final != run.Final {
			t.Errorf("seed %d: %v, again %v", seed, run, again)
		}
	}
}

// Section 11.F (5): with the defaults, the assignment is nearly unique and valid in the end.
func TestADMMResiduals(t *testing.T) {
	for shift, samples := range map[float64]int{.1: 600, .3: 200, .6: 200, 1: 200, 1.5: 200} {
		p, clean := synthetic(3, samples, 15, shift)
		run := must(p.ADMM(t.Context(), clean, ADMM{}))
		if r := run.Residuals; r.Unique >= .15 || r.Valid >= .15 || r.Interval >= .05 {
			t.Errorf("R/σ = %v: residuals %+v", shift, r)
		}
	}
}

// Section 11.F (6): where every interval is one value, the first projection is the only one.
func TestADMMOfSingleValues(t *testing.T) {
	p, clean := synthetic(4, 100, 15, .5)
	p = must(New(p.Correct, clean, clean, p.Bins))
	run := must(p.ADMM(t.Context(), clean, ADMM{Steps: 50}))
	want := must(calib.ECE(p.Correct, clean, p.Bins))
	if math.Abs(run.Best-want) > 1e-14 || run.BestStep > 1 && run.Best-run.Final > 1e-14 {
		t.Errorf("best %v at step %d, want the ECE %v at the first", run.Best, run.BestStep, want)
	}
}

// Section 11.F (8): a large radius.
func TestADMMReachesTheOptimum(t *testing.T) {
	p, clean := synthetic(5, 150, 15, 2)
	runs := must(p.Search(t.Context(), clean, []ADMM{{StepA: .01, Growth: 1.01, Steps: 1500}, {Start: Brier, StepA: .01, Growth: 1.01, Steps: 1500}}, nil))
	o := must(p.Compare(clean, runs))
	if o.Gap < 0 || o.Gap > 1e-6 {
		t.Errorf("%+v, want no gap", o)
	}
}

// With two bins the uniform start is the centre of the sphere, from which a seeded direction leads away.
func TestADMMLeavesTheCentre(t *testing.T) {
	p, clean := synthetic(6, 40, 2, .5)
	one := must(p.ADMM(t.Context(), clean, ADMM{Steps: 30, Seed: 1}))
	if math.IsNaN(one.Final) || math.IsNaN(one.Residuals.Binary) {
		t.Errorf("%+v", one)
	}
	s := newIterate(p, clean, must(ADMM{}.withDefaults()))
	s.stepA = 0 // a stays at the centre
	s.stepAssignment()
	norm := 0.0
	for _, p := range s.v2 {
		for _, v := range p {
			norm += s.scale * s.scale * v * v
		}
	}
	if s.keep != 0 || relative(norm, 40*2./4) > 1e-12 {
		t.Errorf("the copy is %v off the centre, want %v", norm, 40*2./4)
	}
}

// Section 11.F (4), and a search: the same on one core.
func TestSearch(t *testing.T) {
	p, clean := synthetic(7, 60, 15, .3)
	grid := Grid(clean)
	if len(grid) != 16 {
		t.Fatalf("%d runs, want 16", len(grid))
	}
	for i := range grid {
		grid[i].Steps = 200
	}
	done := 0
	runs := must(p.Search(t.Context(), clean, grid, func() { done++ }))
	o := must(p.Compare(clean, runs))
	if done != 16 || o.ACCE < must(calib.ECE(p.Correct, clean, p.Bins)) || o.ACCE < o.Raw || o.Gap < 0 || o.Exact != exact(t, p) || o.Gap != o.Exact-o.ACCE {
		t.Errorf("%d runs, %+v", done, o)
	}
	for i, run := range runs {
		single := must(p.ADMM(t.Context(), clean, grid[i]))
		if single.Best != run.Best || run.StepZ != grid[i].StepZ {
			t.Errorf("run %d: %v, alone %v", i, run.Best, single.Best)
		}
	}
	if start := Grid(nil)[0].Start; start != Middle {
		t.Errorf("without clean confidences, the first start is %q", start)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Search(ctx, clean, Grid(clean), cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := p.SearchDECE(ctx, clean, Trials(clean, 12, 0), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A run takes the memory of at most 20 arrays of N·M numbers.
func TestADMMMemory(t *testing.T) {
	p, clean := synthetic(9, 2000, 15, .3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must(p.ADMM(t.Context(), clean, ADMM{Steps: 5}))
	runtime.ReadMemStats(&after)
	if arrays := float64(after.TotalAlloc-before.TotalAlloc) / (2000 * 15 * 8); arrays > 20 {
		t.Errorf("%.1f arrays of N·M", arrays)
	}
}

func TestBadInput(t *testing.T) {
	p, clean := synthetic(8, 10, 5, .3)
	outside := slices.Clone(clean)
	outside[3] = p.Upper[3] + .01
	for name, call := range map[string]func() error{
		"start":      func() error { _, err := p.ADMM(t.Context(), clean, ADMM{Start: "x"}); return err },
		"no clean":   func() error { _, err := p.ADMM(t.Context(), nil, ADMM{}); return err },
		"outside":    func() error { _, err := p.ADMM(t.Context(), outside, ADMM{}); return err },
		"step":       func() error { _, err := p.ADMM(t.Context(), clean, ADMM{StepA: -1}); return err },
		"step NaN":   func() error { _, err := p.ADMM(t.Context(), clean, ADMM{StepZ: math.NaN()}); return err },
		"growth":     func() error { _, err := p.ADMM(t.Context(), clean, ADMM{Growth: .9}); return err },
		"rho":        func() error { _, err := p.ADMM(t.Context(), clean, ADMM{Rho: 11}); return err },
		"steps":      func() error { _, err := p.ADMM(t.Context(), clean, ADMM{Steps: -1}); return err },
		"dece start": func() error { _, err := p.DECE(t.Context(), clean, DECE{Start: "x"}); return err },
		"schedule":   func() error { _, err := p.DECE(t.Context(), clean, DECE{Schedule: "x"}); return err },
		"rate":       func() error { _, err := p.DECE(t.Context(), clean, DECE{Rate: math.Inf(1)}); return err },
		"momentum":   func() error { _, err := p.DECE(t.Context(), clean, DECE{Momentum: 1}); return err },
		"dece steps": func() error { _, err := p.DECE(t.Context(), clean, DECE{Steps: -1}); return err },
		"dece clean": func() error { _, err := p.DECE(t.Context(), nil, DECE{}); return err },
		"compare":    func() error { _, err := p.Compare(clean, nil); return err },
		"intervals":  func() error { _, err := New([]bool{true}, []float64{.5}, []float64{.4}, p.Bins); return err },
		"value":      func() error { _, err := p.Value([]int{0}, []float64{0}); return err },
		"infeasible": func() error { _, err := p.Value(make([]int, 10), clean); return err },
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkADMM(b *testing.B) {
	p, clean := synthetic(1, 2000, 15, .3)
	was := vector
	defer func() { vector = was }()
	for name, on := range map[string]bool{"plain": false, "vector": true} {
		if on && !was {
			continue
		}
		b.Run(name+"/3000 steps", func(b *testing.B) {
			vector = on
			b.ReportAllocs()
			for b.Loop() {
				must(p.ADMM(b.Context(), clean, ADMM{}))
			}
		})
	}
	b.Run("grid of 16 runs", func(b *testing.B) {
		vector = was
		for b.Loop() {
			must(p.Search(b.Context(), clean, Grid(clean), nil))
		}
	})
}
