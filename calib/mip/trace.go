package mip

import "math"

// Residuals are the largest absolute residuals of an iterate.
type Residuals struct {
	Interval float64 `json:"interval"` // of z from its box
	Binary   float64 `json:"binary"`   // of a from the nearer of 0 and 1
	Unique   float64 `json:"unique"`   // of Σ_m a from 1
	Valid    float64 `json:"valid"`    // of Σ_m k·a from 0
}

// Norms are a residual's norms.
type Norms struct {
	L2  float64 `json:"l2"`
	Max float64 `json:"max"`
}

// Record is what a trace holds of one step, after its updates of the duals (Emde et al. 2025, figures 9, 10).
type Record struct {
	Step       int     `json:"step"`
	Lagrangian float64 `json:"lagrangian"` // augmented, without the indicator functions
	Relaxed    float64 `json:"relaxed"`    // calibration error of the iterate
	Projected  float64 `json:"projected"`  // of its projected copy
	// The dual and penalty terms of the five constraints.
	BoxPenalty, SpherePenalty, IntervalPenalty, UniquePenalty, ValidPenalty float64
	// Norms of the residuals; see Residuals.
	Interval, Binary, Unique, Valid Norms
}

// Snapshot is the beginning of a, ten samples at most, M values each (figure 11).
type Snapshot struct {
	Step int
	A    []float64
}

const snapshotSamples = 10

func (s *iterate) snapshot(run *Run, step int) {
	if !run.Record {
		return
	}
	shot := Snapshot{Step: step}
	for i := range min(snapshotSamples, s.samples) {
		for m := range s.bins {
			shot.A = append(shot.A, s.a[s.at(i, m)])
		}
	}
	run.Snapshots = append(run.Snapshots, shot)
}

// offBox is the distance of an entry of z from its interval, and offBinary that of an entry of a from {0, 1}.
func (s *iterate) offBox(i, m int) float64 {
	low, high, _ := s.box(i, m)
	z := s.z[s.at(i, m)]
	return max(0, low-z, z-high)
}

func (s *iterate) offBinary(i, m int) float64 {
	a := s.a[s.at(i, m)]
	if a < .5 {
		return math.Abs(a)
	}
	return math.Abs(a - 1)
}

// settled reports whether all residuals are small, the cheap ones first.
func (s *iterate) settled() bool {
	for i, u := range s.unique[:s.samples] {
		if math.Abs(u) >= settled || math.Abs(s.valid[i]) >= settled {
			return false
		}
	}
	for i := range s.samples {
		for m := range s.bins {
			if s.offBinary(i, m) >= settled || s.offBox(i, m) >= settled {
				return false
			}
		}
	}
	return true
}

func (n *Norms) add(x float64) {
	n.L2 += x * x
	n.Max = max(n.Max, math.Abs(x))
}

func (s *iterate) norms() (interval, binary, unique, valid Norms) {
	for i, u := range s.unique[:s.samples] {
		unique.add(u)
		valid.add(s.valid[i])
		for m := range s.bins {
			interval.add(s.offBox(i, m))
			binary.add(s.offBinary(i, m))
		}
	}
	for _, n := range []*Norms{&interval, &binary, &unique, &valid} {
		n.L2 = math.Sqrt(n.L2)
	}
	return
}

func (s *iterate) residuals() Residuals {
	interval, binary, unique, valid := s.norms()
	return Residuals{interval.Max, binary.Max, unique.Max, valid.Max}
}

// record describes the iterate before the penalty grows.
func (s *iterate) record(step int, projected float64) Record {
	r := Record{Step: step, Projected: projected}
	r.Interval, r.Binary, r.Unique, r.Valid = s.norms()
	term := func(dual, residual float64) float64 { return residual * (dual + s.rho/2*residual) }
	for i, u := range s.unique[:s.samples] {
		r.UniquePenalty += term(s.lam4[i], u)
		r.ValidPenalty += term(s.lam5[i], s.valid[i])
		for m := range s.bins {
			k := s.at(i, m)
			q1 := min(max(s.v1[k], 0), 1)
			low, high, _ := s.box(i, m)
			g := min(max(s.v3[k], low), high)
			q2 := .5 + s.scale*s.v2[k]
			r.BoxPenalty += term(s.rho*(s.v1[k]-q1), s.a[k]-q1)
			r.SpherePenalty += term(s.rho*(s.keep-s.scale)*s.v2[k], s.a[k]-q2)
			r.IntervalPenalty += term(s.rho*(s.v3[k]-g), s.z[k]-g)
		}
	}
	relaxed := 0.0
	for m := range s.bins {
		relaxed += math.Abs(s.sum(m))
	}
	r.Relaxed = relaxed / float64(s.samples)
	r.Lagrangian = -relaxed + r.BoxPenalty + r.SpherePenalty + r.IntervalPenalty + r.UniquePenalty + r.ValidPenalty
	return r
}
