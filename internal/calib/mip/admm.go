package mip

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// ADMM are the settings of one run of the alternating direction method of multipliers on the program. The binary
// constraint is split into a box and a sphere (Wu and Ghanem 2019; Emde et al. 2025, appendix F). The zero value of a
// field is its default, which is the paper's where the paper gives one.
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
	Final    float64 `json:"final"`     // objective of the last one
	Done     int     `json:"done"`      // steps made
	// Largest residuals of the last iterate: z off its box, a off {0, 1}, Σ_m a − 1, and Σ_m k·a.
	Residuals Residuals `json:"residuals"`

	Bin        []int     `json:"-"` // the assignment of Best, bins counted from 0
	Confidence []float64 `json:"-"`
	Trace      []Record  `json:"-"` // one per step where the settings ask for it
	// Likewise by step: the beginning of a at the start, in the middle and at the end.
	Snapshots map[int][]float64 `json:"-"`
}

func (o ADMM) withDefaults() (ADMM, error) {
	err := settings{start: &o.Start, steps: &o.Steps, usualSteps: 3000, numbers: []setting{
		{"StepA", &o.StepA, 0.001, 0}, {"StepZ", &o.StepZ, 0.001, 0}, {"Growth", &o.Growth, 1.004, 1},
		{"Rho", &o.Rho, 0.01, 0},
	}}.fill(Clean, Brier, Middle)
	if err == nil && o.Rho > maxRho {
		err = fmt.Errorf("mip: Rho is %v, expected at most %v", o.Rho, maxRho)
	}
	return o, err
}

// ADMM runs the method. After every step a copy of the iterate is projected. Each sample goes into the bin of its
// largest a among those it can reach, its confidence into the interval there. The best value is kept. The result is a
// lower bound on the optimum. clean may be nil where the start is not Clean.
//
// Errors: settings out of range; clean confidences outside their intervals; that of ctx.
func (p *Program) ADMM(ctx context.Context, clean []float64, o ADMM) (*Run, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.checkStart(o.Start, clean); err != nil {
		return nil, err
	}
	s := newIterate(p, p.at(o.Start, clean), o)
	run := &Run{ADMM: o, Best: math.Inf(-1)}
	best := projection{slices.Clone(s.top), slices.Clone(s.near)}
	s.snapshot(run, 0)
	for t := 1; t <= o.Steps; t++ {
		if t%16 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.stepAssignment()
		s.stepConfidences()
		value := s.projected()
		if value > run.Best {
			run.Best, run.BestStep = value, t
			s.projection, best = best, s.projection
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
	run.Bin, run.Confidence = best.samples(len(p.Correct))
	return run, nil
}
