package mip

import (
	"context"
	"math"
	"math/rand/v2"
)

// Trials returns the settings of a search with dECE. First come two starts times three learning rates, with and without
// momentum. Then, up to n, settings are drawn at random: all starts and schedules, rates from 10⁻⁴ to 10⁻¹, last
// temperatures from 10⁻⁵ to 10⁻³. The paper searches over the same settings in 2,000 trials; the ranges are ours.
func Trials(clean []float64, n int, seed uint64) []DECE {
	var trials []DECE
	for _, start := range []Start{natural(clean), Brier} {
		for _, rate := range []float64{0.001, 0.003, 0.01} {
			for _, momentum := range []float64{0, 0.9} {
				trials = append(trials, DECE{Start: start, Rate: rate, Momentum: momentum})
			}
		}
	}
	random := rand.New(rand.NewPCG(seed, 2))
	starts := []Start{natural(clean), Brier, Gaussian, Random}
	schedules := []Schedule{Constant, Cosine, Plateau}
	for len(trials) < n {
		trials = append(trials, DECE{
			Start:    starts[random.IntN(len(starts))],
			Rate:     math.Pow(10, -4+3*random.Float64()),
			Momentum: []float64{0, 0.9}[random.IntN(2)],
			Schedule: schedules[random.IntN(len(schedules))],
			Last:     math.Pow(10, -5+2*random.Float64()),
			Seed:     random.Uint64(),
		})
	}
	return trials[:n]
}

// SearchDECE runs the ascent with each of the settings, as Search does ADMM.
func (p *Program) SearchDECE(ctx context.Context, clean []float64, settings []DECE, done func()) ([]*DECERun, error) {
	runs := make([]*DECERun, len(settings))
	err := parallel(ctx, len(settings), done, func(i int) (err error) {
		runs[i], err = p.DECE(ctx, clean, settings[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}
