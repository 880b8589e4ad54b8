package linestest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
)

// Predictions draws the classes of the models of Skills on Images without the shift and on Others under it, all of class 0 in truth; a wrong answer is one of
// nine others, the more popular the smaller its number, for all models. No line goes through the models' scatter: the skill under the shift is Slope·s + Intercept.
func (w World) Predictions(rng *rand.Rand) (id, shifted []lines.Predictions, labels []int) {
	answers := func(n int, skill func(s float64) float64) []lines.Predictions {
		p := make([]lines.Predictions, len(w.Skills))
		for k := range p {
			p[k].Model = fmt.Sprint("model ", k)
		}
		common, own := math.Sqrt(w.Common), math.Sqrt(1-w.Common)
		for _, d := range normal(rng, n) {
			popular := 1 + rng.IntN(9)
			for k, s := range w.Skills {
				class := 0
				if common*d+own*rng.NormFloat64() >= skill(s) {
					if class = popular; rng.IntN(2) == 0 {
						class = 1 + rng.IntN(9)
					}
				}
				p[k].Classes = append(p[k].Classes, class)
			}
		}
		return p
	}
	id = answers(w.Images, func(s float64) float64 { return s })
	shifted = answers(w.Others, func(s float64) float64 { return w.Slope*s + w.Intercept })
	return id, shifted, make([]int, w.Images)
}

// Agreements counts intervals of estimates without labels that hold the estimate of infinitely many images.
type Agreements struct {
	Trials int `json:"trials"`
	S      int `json:"aline_s"`
	D      int `json:"aline_d"`
}

// CoverAgreement counts for the model in the middle.
func (w World) CoverAgreement(ctx context.Context, trials int, b resample.Options) (Agreements, error) {
	c := Agreements{Trials: trials}
	rng := rand.New(rand.NewPCG(b.Seed, 78))
	large := w
	large.Images, large.Others = 400_000, 400_000
	id, shifted, labels := large.Predictions(rng)
	truth, err := lines.Agree(ctx, id, shifted, labels, nil, lines.AgreeOptions{NoIntervals: true})
	if err != nil {
		return c, err
	}
	middle := len(w.Skills) / 2
	for trial := range trials {
		id, shifted, labels := w.Predictions(rng)
		b.Seed = uint64(trial)
		a, err := lines.Agree(ctx, id, shifted, labels, nil, lines.AgreeOptions{
			Resamples: b.Resamples, Confidence: b.Confidence, Seed: b.Seed})
		if err != nil {
			return c, err
		}
		if a.Models[middle].SInterval.Contains(truth.Models[middle].S) {
			c.S++
		}
		if a.Models[middle].DInterval.Contains(truth.Models[middle].D) {
			c.D++
		}
	}
	return c, nil
}
