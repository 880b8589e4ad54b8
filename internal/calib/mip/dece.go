package mip

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/certspec/certspec/calib"
)

// Schedule says how the learning rate of a dECE run changes.
type Schedule string

const (
	Constant Schedule = "constant"
	Cosine   Schedule = "cosine"  // to 0 over the steps
	Plateau  Schedule = "plateau" // times 0.5 after 50 steps without a better value
)

// DECE are the settings of one run of projected gradient ascent on the differentiable calibration error. Its soft bins
// become hard as the temperature falls (Bohdal, Yang and Hospedales 2023; Emde et al. 2025, appendix M). The zero value
// of a field is its default.
type DECE struct {
	Start    Start    `json:"start"`    // Clean (default), Brier, Middle, Gaussian or Random
	Rate     float64  `json:"rate"`     // learning rate on N times the gradient; 0 means 0.001
	Momentum float64  `json:"momentum"` // in [0, 1)
	Schedule Schedule `json:"schedule"` // of the rate; empty means constant
	// Temperatures of the first and the last step, in units of confidence, geometric between: 0 means 0.01
	// and 10⁻⁵. The paper gives the first; the last is ours.
	First float64 `json:"first_temperature"`
	Last  float64 `json:"last_temperature"`
	Steps int     `json:"steps"` // 0 means 1000
	Seed  uint64  `json:"seed"`  // of the random starts
}

// DECERun is the outcome of one run.
type DECERun struct {
	DECE
	Best       float64   `json:"ece"` // largest calibration error on the way
	BestStep   int       `json:"best_step"`
	Confidence []float64 `json:"-"` // that have it
}

func (o DECE) withDefaults() (DECE, error) {
	err := settings{start: &o.Start, steps: &o.Steps, usualSteps: 1000, numbers: []setting{
		{"Rate", &o.Rate, 0.001, 0}, {"First", &o.First, 0.01, 0}, {"Last", &o.Last, 1e-5, 0},
	}}.fill(Clean, Brier, Middle, Gaussian, Random)
	if o.Schedule == "" {
		o.Schedule = Constant
	}
	switch {
	case err != nil:
	case o.Schedule != Constant && o.Schedule != Cosine && o.Schedule != Plateau:
		err = fmt.Errorf("mip: schedule %q, expected constant, cosine or plateau", o.Schedule)
	case !(o.Momentum >= 0 && o.Momentum < 1):
		err = fmt.Errorf("mip: Momentum is %v, expected a number in [0, 1)", o.Momentum)
	}
	return o, err
}

// DECE runs the ascent. The hard calibration error is taken before the first step and after each, and the best is kept.
// It is that of ordinary confidences, so it is a lower bound on the optimum of the program.
//
// Errors: settings out of range; clean confidences outside their intervals; that of ctx.
func (p *Program) DECE(ctx context.Context, clean []float64, o DECE) (*DECERun, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := p.checkStart(o.Start, clean); err != nil {
		return nil, err
	}
	n := len(p.Correct)
	z, err := p.startDECE(o, clean)
	if err != nil {
		return nil, err
	}
	run := &DECERun{DECE: o, Best: math.Inf(-1)}
	gradient, speed, soft := make([]float64, n), make([]float64, n), p.newSoftBins()
	rate, stalled := o.Rate, 0
	for t := 0; ; t++ {
		value, err := calib.ECE(p.Correct, z, p.Bins)
		if err != nil {
			return nil, err
		}
		stalled++
		if value > run.Best {
			run.Best, run.BestStep, stalled = value, t, 0
			run.Confidence = append(run.Confidence[:0], z...)
		}
		if t == o.Steps {
			return run, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fraction := float64(t) / float64(max(1, o.Steps-1))
		switch o.Schedule {
		case Cosine:
			rate = o.Rate * (1 + math.Cos(math.Pi*fraction)) / 2
		case Plateau:
			if stalled == 50 {
				rate, stalled = rate/2, 0
			}
		}
		soft.gradient(gradient, z, o.First*math.Pow(o.Last/o.First, fraction))
		for i, g := range gradient {
			speed[i] = o.Momentum*speed[i] + g*float64(n)
			z[i] = min(max(z[i]+rate*speed[i], p.Lower[i]), p.Upper[i])
		}
	}
}

// randomStarts is the number of random starts of which a run keeps the one with the largest error.
const randomStarts = 10

// startDECE returns the confidences at which a run begins.
func (p *Program) startDECE(o DECE, clean []float64) ([]float64, error) {
	if o.Start != Gaussian && o.Start != Random {
		return p.at(o.Start, clean), nil
	}
	random := rand.New(rand.NewPCG(o.Seed, 1))
	z, best, most := make([]float64, len(p.Correct)), []float64(nil), math.Inf(-1)
	for range randomStarts {
		for i, l := range p.Lower {
			u := p.Upper[i]
			if o.Start == Random {
				z[i] = min(l+(u-l)*random.Float64(), u)
			} else {
				z[i] = min(max(l+(u-l)*(.5+random.NormFloat64()/2), l), u)
			}
		}
		value, err := calib.ECE(p.Correct, z, p.Bins)
		if err != nil {
			return nil, err
		}
		if value > most {
			best, most = append(best[:0], z...), value
		}
	}
	return best, nil
}
