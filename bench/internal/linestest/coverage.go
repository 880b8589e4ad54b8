package linestest

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
)

// Coverage counts, over Trials worlds with intervals, how many hold the truth, and how many models the interval of
// the effective robustness calls robust.
type Coverage struct {
	Trials      int     `json:"trials"`
	Refused     int     `json:"refused"`       // further worlds, without intervals
	Why         string  `json:"why,omitempty"` // of the first of them
	Slope       int     `json:"slope"`
	Intercept   int     `json:"intercept"`
	R2          int     `json:"r2"`
	Robustness  int     `json:"effective_robustness"` // of the model that the line does not go through
	Robust      int     `json:"called_robust"`        // its interval lies above 0
	Fragile     int     `json:"called_fragile"`       // below
	SlopeMean   float64 `json:"mean_slope"`
	DemingMean  float64 `json:"mean_deming"`
	Reliability float64 `json:"mean_reliability"`
}

// Cover fits so many worlds and counts; a world whose models all have one accuracy, and thus no line, is left out.
// What the intervals take for random says what their truth is: of images alone, the line through the models that
// were drawn; of models too, the law that they were drawn from.
func (w World) Cover(ctx context.Context, trials int, over lines.Over, b resample.Options) (Coverage, error) {
	rng := rand.New(rand.NewPCG(b.Seed, 77))
	var c Coverage
	for trial := 0; trial < trials; trial++ {
		points, truth := w.Draw(rng)
		if over != lines.Images {
			variance := 0.4 * 0.4 * w.Slope * w.Slope
			truth.Line.Slope, truth.Line.Intercept = w.Slope, w.Intercept
			truth.Line.R2 = variance / (variance + w.Scatter*w.Scatter)
			truth.Last = lines.Phi(w.Slope+w.Intercept+w.Lift) - lines.Phi(w.Slope+w.Intercept)
		}
		b.Seed = uint64(trial)
		r, err := lines.FitPoints(ctx, points, lines.Options{Over: over,
			Resamples: b.Resamples, Confidence: b.Confidence, Seed: b.Seed})
		if few := (*lines.FewPoints)(nil); errors.As(err, &few) {
			continue
		}
		if err != nil {
			return c, err
		}
		line, last := r.Lines[0], r.Models[len(r.Models)-1]
		c.SlopeMean += line.Slope / float64(trials)
		c.Reliability += line.Reliability / float64(trials)
		if line.Deming != nil {
			c.DemingMean += line.Deming.Slope / float64(trials)
		}
		if line.Intervals == nil {
			if c.Refused++; c.Why == "" {
				c.Why = r.Notes[0]
			}
			continue
		}
		c.Trials++
		for field, want := range map[string]struct {
			truth float64
			hits  *int
		}{"slope": {truth.Line.Slope, &c.Slope}, "intercept": {truth.Line.Intercept, &c.Intercept}, "r2": {truth.Line.R2, &c.R2}} {
			if line.Intervals[field].Contains(want.truth) {
				*want.hits++
			}
		}
		if last.Interval.Contains(truth.Last) {
			c.Robustness++
		}
		switch {
		case last.Interval.Low > 0:
			c.Robust++
		case last.Interval.High < 0:
			c.Fragile++
		}
	}
	return c, nil
}
