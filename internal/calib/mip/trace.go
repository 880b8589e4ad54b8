package mip

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

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

// Record is the trace of one step, after its updates of the duals (Emde et al. 2025, figures 9, 10).
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

// WriteTrace writes a recorded run as CSV: a line for each step, with its value, its relaxed and projected calibration
// error, the five penalties, and the norms of the four residuals.
func (r *Run) WriteTrace(w io.Writer) error {
	rows := [][]string{{
		"step", "lagrangian", "relaxed_ece", "projected_ece", "box_penalty", "sphere_penalty", "interval_penalty",
		"unique_penalty", "valid_penalty",
		"interval_l2", "interval_max", "binary_l2", "binary_max", "unique_l2", "unique_max", "valid_l2", "valid_max",
	}}
	for _, t := range r.Trace {
		row := []string{strconv.Itoa(t.Step)}
		for _, v := range []float64{
			t.Lagrangian, t.Relaxed, t.Projected, t.BoxPenalty, t.SpherePenalty, t.IntervalPenalty, t.UniquePenalty,
			t.ValidPenalty,
			t.Interval.L2, t.Interval.Max, t.Binary.L2, t.Binary.Max, t.Unique.L2, t.Unique.Max, t.Valid.L2,
			t.Valid.Max,
		} {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

const snapshotSamples = 10

// snapshot keeps the beginning of a, ten samples at most, M values each (figure 11).
func (s *iterate) snapshot(run *Run, step int) {
	if !run.Record {
		return
	}
	var shot []float64
	for i := range min(snapshotSamples, s.samples) {
		for m := range s.bins {
			k, j := s.at(i, m)
			shot = append(shot, s.a[k][j])
		}
	}
	if run.Snapshots == nil {
		run.Snapshots = map[int][]float64{}
	}
	run.Snapshots[step] = shot
}

// offBox is the distance of an entry of z from its interval, and offBinary that of an entry of a from {0, 1}.
func (s *iterate) offBox(i, m int) float64 {
	low, high, _ := s.box(i, m)
	k, j := s.at(i, m)
	z := s.z[k][j]
	return max(0, low-z, z-high)
}

func (s *iterate) offBinary(i, m int) float64 {
	k, j := s.at(i, m)
	a := s.a[k][j]
	if a < .5 {
		return math.Abs(a)
	}
	return math.Abs(a - 1)
}

// settled reports whether all residuals are small, the cheap ones first.
func (s *iterate) settled() bool {
	for b := range s.unique { // 0 in the filling
		for j, u := range s.unique[b] {
			if math.Abs(u) >= settled || math.Abs(s.valid[b][j]) >= settled {
				return false
			}
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
	for i := range s.samples {
		b, j := i/lanes, i%lanes
		unique.add(s.unique[b][j])
		valid.add(s.valid[b][j])
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
	for i := range s.samples {
		b, j := i/lanes, i%lanes
		r.UniquePenalty += term(s.lam4[b][j], s.unique[b][j])
		r.ValidPenalty += term(s.lam5[b][j], s.valid[b][j])
		for m := range s.bins {
			k, _ := s.at(i, m)
			a, z, v1, v2, v3 := s.a[k][j], s.z[k][j], s.v1[k][j], s.v2[k][j], s.v3[k][j]
			low, high, _ := s.box(i, m)
			q1, q2, g := clip(v1, 0, 1), .5+s.scale*v2, clip(v3, low, high)
			r.BoxPenalty += term(s.rho*(v1-q1), a-q1)
			r.SpherePenalty += term(s.rho*(s.keep-s.scale)*v2, a-q2)
			r.IntervalPenalty += term(s.rho*(v3-g), z-g)
		}
	}
	relaxed := 0.0
	for m := range s.sums {
		relaxed += math.Abs(s.sums[m].sum())
	}
	r.Relaxed = relaxed / float64(s.samples)
	r.Lagrangian = -relaxed + r.BoxPenalty + r.SpherePenalty + r.IntervalPenalty + r.UniquePenalty + r.ValidPenalty
	return r
}
