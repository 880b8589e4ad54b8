package mip

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// ADMM are the settings of one run of the alternating direction method of multipliers on the program, with the
// binary constraint split into a box and a sphere (Wu and Ghanem 2019; Emde et al. 2025, appendix F). The zero
// value of a field is its default, which is the paper's where the paper gives one.
type ADMM struct {
	Start  Start   `json:"start"`  // of z: Clean (default), Brier or Middle
	StepA  float64 `json:"step_a"` // gradient step η_a on the assignment; 0 means 0.001
	StepZ  float64 `json:"step_z"` // gradient step η_z on the confidences; 0 means 0.001
	Growth float64 `json:"growth"` // φ, by which the penalty ρ grows at each step, up to 10; 0 means 1.004
	Rho    float64 `json:"rho"`    // ρ at the start; 0 means 0.01
	Steps  int     `json:"steps"`  // at most; 0 means 3000
	Seed   uint64  `json:"-"`      // of the direction in which an iterate leaves the sphere's centre
	Record bool    `json:"-"`      // record every step
}

const (
	maxRho      = 10.  // where ρ stops growing
	clipGrad    = 5.   // bound on the entries of the gradient in a
	clipIterate = 2.   // bound on the entries of a and z
	settled     = 1e-3 // largest residual of a run that may stop early
	patience    = 500  // steps without improvement after which it may
)

// Run is the outcome of one run of ADMM.
type Run struct {
	ADMM
	Best     float64 `json:"acce"`      // largest calibration error of the projected iterates
	BestStep int     `json:"best_step"` // where it was found
	Final    float64 `json:"final"`     // that of the last one
	Done     int     `json:"done"`      // steps made
	// Largest residuals of the last iterate: z off its box, a off {0, 1}, Σ_m a − 1, and Σ_m k·a.
	Residuals Residuals `json:"residuals"`

	Bin        []int      `json:"-"` // the assignment of Best, bins counted from 0
	Confidence []float64  `json:"-"`
	Trace      []Record   `json:"-"` // one per step where the settings ask for it
	Snapshots  []Snapshot `json:"-"` // likewise: of a at the start, in the middle and at the end
}

func (o ADMM) withDefaults() (ADMM, error) {
	if o.Start == "" {
		o.Start = Clean
	}
	if o.Start != Clean && o.Start != Brier && o.Start != Middle {
		return o, fmt.Errorf("mip: start %q, expected clean, brier or middle", o.Start)
	}
	for _, f := range []struct {
		name  string
		value *float64
		usual float64
		least float64
	}{{"StepA", &o.StepA, 0.001, 0}, {"StepZ", &o.StepZ, 0.001, 0}, {"Growth", &o.Growth, 1.004, 1}, {"Rho", &o.Rho, 0.01, 0}} {
		if *f.value == 0 {
			*f.value = f.usual
		}
		if v := *f.value; !(v > f.least || v == 1 && f.least == 1) || math.IsInf(v, 0) {
			return o, fmt.Errorf("mip: %s is %v, expected a finite number above %v", f.name, v, f.least)
		}
	}
	if o.Rho > maxRho {
		return o, fmt.Errorf("mip: Rho is %v, expected at most %v", o.Rho, maxRho)
	}
	if o.Steps == 0 {
		o.Steps = 3000
	}
	if o.Steps < 0 {
		return o, fmt.Errorf("mip: Steps is %d, expected more than 0", o.Steps)
	}
	return o, nil
}

// ADMM runs the method. After every step a copy of the iterate is projected: each sample into the bin of its
// largest a among those it can reach, its confidence into the interval there; the best value is kept. The
// result is a lower bound on the optimum. clean may be nil where the start is not Clean.
//
// Errors: settings out of range; clean confidences outside their intervals; that of ctx.
func (p *Program) ADMM(ctx context.Context, clean []float64, o ADMM) (*Run, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.checkClean(clean); err != nil {
		return nil, err
	}
	if o.Start == Clean && clean == nil {
		return nil, fmt.Errorf("mip: a start at clean confidences, but none are given")
	}
	s := newIterate(p, p.at(o.Start, clean), o)
	run := &Run{ADMM: o, Best: math.Inf(-1)}
	bin, confidence := make([]int, len(p.Correct)), make([]float64, len(p.Correct))
	best, bestConfidence := make([]int, len(p.Correct)), make([]float64, len(p.Correct))
	s.snapshot(run, 0)
	for t := 1; t <= o.Steps; t++ {
		if t%16 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.stepAssignment()
		s.stepConfidences()
		value := s.project(bin, confidence)
		if value > run.Best {
			run.Best, run.BestStep = value, t
			bin, best, confidence, bestConfidence = best, bin, bestConfidence, confidence
		}
		run.Final, run.Done = value, t
		if o.Record {
			run.Trace = append(run.Trace, s.record(t, value))
		}
		if t == o.Steps/2 {
			s.snapshot(run, t)
		}
		if t-run.BestStep >= patience && s.settled() {
			break
		}
		s.grow()
	}
	s.snapshot(run, run.Done)
	run.Residuals = s.residuals()
	run.Bin, run.Confidence = best, bestConfidence
	return run, nil
}

// iterate is the state of ADMM. Arrays of N·M hold blocks of as many samples as a vector has lanes: for each
// bin, one value per sample of the block. Samples that fill up the last block have zeros.
//
// Of each copy and its dual only their sum survives: with v1 = a + λ1/ρ, the box copy is q1 = clip(v1) and
// the dual after its update ρ(v1 − q1); with v2 = a + λ2/ρ − ½, the sphere's copy is q2 = ½ + scale·v2 and
// its dual ρ(keep − scale)·v2; with v3 = z + λ3/ρ, the interval's copy is g = clip(v3) and its dual ρ(v3 − g).
type iterate struct {
	p             *Program
	samples, bins int
	a, z          []float64
	v1, v2, v3    []float64
	// One value per sample: correctness, interval, first and last bin it meets, ½ (0 in the filling).
	c, l, u, first, last, half []float64
	unique, valid              []float64 // Σ_m a − 1 and Σ_m k·a
	lam4, lam5                 []float64 // their duals
	pull, push                 []float64 // of the two, duals plus penalties
	// Lanes of equal values per bin: its number, edges, and the sign of Σ_n a(z − c); and the lanes of that sum.
	number, lower, upper, sign, sums []float64
	scale, keep                      float64
	rho, before                      float64 // the penalty of this step and of the last
	growth                           float64
	stepA, stepZ                     float64
	random                           *rand.Rand
	gaps                             []float64 // scratch of project
}

// lanes is the number of float64 in a vector.
const lanes = 4

// at is the index of a sample's entry for a bin.
func (s *iterate) at(i, m int) int { return (i/lanes*s.bins+m)*lanes + i%lanes }

func newIterate(p *Program, z []float64, o ADMM) *iterate {
	n, bins := len(p.Correct), p.Bins.Len()
	filled := (n + lanes - 1) / lanes * lanes
	all := func() []float64 { return make([]float64, filled*bins) }
	each := func() []float64 { return make([]float64, filled) }
	wide := func() []float64 { return make([]float64, bins*lanes) }
	s := &iterate{
		p: p, samples: n, bins: bins, a: all(), z: all(), v1: all(), v2: all(), v3: all(),
		c: each(), l: each(), u: each(), first: each(), last: each(), half: each(),
		unique: each(), valid: each(), lam4: each(), lam5: each(), pull: each(), push: each(),
		number: wide(), lower: wide(), upper: wide(), sign: wide(), sums: wide(), gaps: make([]float64, bins),
		scale: 1, keep: 1, rho: o.Rho, before: o.Rho, growth: o.Growth, stepA: o.StepA, stepZ: o.StepZ,
		random: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	for k := range s.number {
		m := k / lanes
		s.number[k], s.lower[k], s.upper[k] = float64(m), p.edges[m], p.edges[m+1]
	}
	start := 1 / float64(bins)
	for i, c := range p.Correct {
		if c {
			s.c[i] = 1
		}
		s.l[i], s.u[i], s.half[i] = p.Lower[i], p.Upper[i], .5
		s.first[i], s.last[i] = float64(p.low[i]), float64(p.high[i])
		for m := range bins {
			k := s.at(i, m)
			s.a[k], s.v1[k], s.v2[k] = start, start, start-.5
			if low, high, inside := s.box(i, m); inside {
				s.z[k] = max(low, min(high, z[i]))
				s.v3[k] = s.z[k]
			} else {
				s.valid[i] += start
			}
			s.unique[i] += start
			s.sums[m*lanes+i%lanes] += (s.z[k] - s.c[i]) * start
		}
		s.unique[i]--
	}
	s.setSigns()
	return s
}

// box is the interval of an entry of z; both ends are 0 where the sample does not meet the bin.
func (s *iterate) box(i, m int) (low, high float64, inside bool) {
	if m < s.p.low[i] || m > s.p.high[i] {
		return 0, 0, false
	}
	return max(s.p.Lower[i], s.p.edges[m]), min(s.p.Upper[i], s.p.edges[m+1]), true
}

// sum is Σ_n a(z − c) over a bin.
func (s *iterate) sum(m int) float64 {
	x := s.sums[m*lanes : (m+1)*lanes]
	return (x[0] + x[1]) + (x[2] + x[3])
}

func (s *iterate) setSigns() {
	for m := range s.bins {
		sign := 0.
		switch v := s.sum(m); {
		case v > 0:
			sign = 1
		case v < 0:
			sign = -1
		}
		for k := m * lanes; k < (m+1)*lanes; k++ {
			s.sign[k] = sign
		}
	}
}

// stepAssignment makes the gradient step on a, and updates what depends on a alone.
func (s *iterate) stepAssignment() {
	clear(s.sums)
	for i, u := range s.unique {
		s.pull[i] = s.lam4[i] + float64(s.rho*u)
		s.push[i] = s.lam5[i] + float64(s.rho*s.valid[i])
	}
	var norm [lanes]float64
	if vector {
		s.assignVector(&norm)
	} else {
		s.assignPlain(&norm)
	}
	for i, h := range s.half {
		if h > 0 {
			s.unique[i]--
		}
		s.lam4[i] += float64(s.rho * s.unique[i])
		s.lam5[i] += float64(s.rho * s.valid[i])
	}
	s.setSigns()
	radius := math.Sqrt(float64(s.samples*s.bins)) / 2
	if squared := (norm[0] + norm[1]) + (norm[2] + norm[3]); squared > 0 {
		s.scale, s.keep = radius/math.Sqrt(squared), 1
		return
	}
	// At the centre of the sphere every direction is the nearest.
	total := 0.0
	for i := range s.samples {
		for m := range s.bins {
			v := s.random.NormFloat64()
			s.v2[s.at(i, m)] = v
			total += v * v
		}
	}
	s.scale, s.keep = radius/math.Sqrt(total), 0
}

// stepConfidences makes the gradient step on z at the new a.
func (s *iterate) stepConfidences() {
	clear(s.sums)
	if vector {
		s.confideVector()
	} else {
		s.confidePlain()
	}
	s.setSigns()
}

// grow takes the penalty to that of the next step.
func (s *iterate) grow() { s.before, s.rho = s.rho, min(s.rho*s.growth, maxRho) }

// project writes the projected copy of the iterate, and returns its calibration error.
func (s *iterate) project(bin []int, confidence []float64) float64 {
	clear(s.gaps)
	for i := range bin {
		m := s.p.low[i]
		k := s.at(i, m)
		at, most := k, s.a[k]
		for b := m + 1; b <= s.p.high[i]; b++ {
			k += lanes
			if s.a[k] > most {
				m, at, most = b, k, s.a[k]
			}
		}
		low, high, _ := s.box(i, m)
		z := s.z[at]
		if z < low {
			z = low
		} else if z > high {
			z = high
		}
		bin[i], confidence[i] = m, z
		s.gaps[m] += z - s.c[i]
	}
	total := 0.0
	for _, g := range s.gaps {
		total += math.Abs(g)
	}
	return total / float64(len(bin))
}
