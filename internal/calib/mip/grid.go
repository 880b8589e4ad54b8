package mip

import (
	"context"
	"errors"

	"github.com/certspec/certspec/calib"
)

// Grid returns the settings of the 16 runs of an evaluation: two starts of z, two steps on z, two on a, two
// rates of growth. The structure is that of Emde et al. (2025); the paper does not give the values, these are
// ours. The first start is the clean confidences, or the middle of the intervals where clean is nil.
func Grid(clean []float64) []ADMM {
	var grid []ADMM
	for _, start := range []Start{natural(clean), Brier} {
		for _, stepZ := range []float64{0.001, 0.01} {
			for _, stepA := range []float64{0.001, 0.01} {
				for _, growth := range []float64{1.004, 1.01} {
					grid = append(grid, ADMM{Start: start, StepZ: stepZ, StepA: stepA, Growth: growth})
				}
			}
		}
	}
	return grid
}

// Search runs ADMM with each of the settings, several at a time, and returns the runs in their order. The
// result does not depend on the number of cores. done, which may be nil, is called after each run, from one
// goroutine at a time.
//
// Errors: the first one of a run; that of ctx.
func (p *Program) Search(ctx context.Context, clean []float64, settings []ADMM, done func()) ([]*Run, error) {
	runs := make([]*Run, len(settings))
	err := parallel(ctx, len(settings), done, func(i int) (err error) {
		runs[i], err = p.ADMM(ctx, clean, settings[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// Outcome compares a search with the exact optimum.
type Outcome struct {
	// ACCE is the approximate certified calibration error: the best of the runs, of the clean confidences and
	// of the Brier confidences.
	ACCE  float64 `json:"acce"`
	Raw   float64 `json:"acce_admm"` // the best of the runs alone
	Exact float64 `json:"exact"`     // calib.ExactCCE
	Gap   float64 `json:"gap"`       // Exact − ACCE, at least 0
}

// Compare returns the outcome of runs. clean may be nil.
//
// Errors: no runs; those of calib.ExactCCE; clean confidences outside their intervals.
func (p *Program) Compare(clean []float64, runs []*Run) (Outcome, error) {
	if len(runs) == 0 {
		return Outcome{}, errors.New("mip: no runs to compare")
	}
	if err := p.checkClean(clean); err != nil {
		return Outcome{}, err
	}
	worst, err := new(calib.Workspace).ExactCCE(p.Correct, p.Lower, p.Upper, p.Bins)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Raw: runs[0].Best, Exact: worst.CCE}
	for _, r := range runs {
		o.Raw = max(o.Raw, r.Best)
	}
	o.ACCE = o.Raw
	for _, z := range [][]float64{clean, p.at(Brier, nil)} {
		if z == nil {
			continue
		}
		ece, err := calib.ECE(p.Correct, z, p.Bins)
		if err != nil {
			return Outcome{}, err
		}
		o.ACCE = max(o.ACCE, ece)
	}
	o.Gap = o.Exact - o.ACCE
	return o, nil
}
