package preflight

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mathext"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
)

// Plan is a run that one could ask for, on all images of the data.
type Plan struct {
	Rule       rs.Rule `json:"rule"`
	MaxSamples int     `json:"max_samples"`
	RadiusCap  float64 `json:"radius_cap"`  // largest radius that it can certify
	MeanRadius float64 `json:"mean_radius"` // expected; abstentions and wrong answers count as 0
	Samples    float64 `json:"copies"`      // expected through the model
	Seconds    float64 `json:"seconds"`     // expected
	Fits       *bool   `json:"fits"`        // into the budget; nil without one
}

// Duration is the expected time, rounded for people.
func (p Plan) Duration() string {
	return human(time.Duration(min(p.Seconds, float64(1<<33)) * float64(time.Second)))
}

func human(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 100*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// sizes are the usual numbers of samples.
var sizes = []int{1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000}

// plans forecasts the run asked for, and the rules of a radius per image that need no thought, at
// the usual numbers of samples, from the pilot.
func (p *pilot) plans(images int, budget time.Duration) ([]Plan, error) {
	asked := p.opt
	if asked.Rule == "" {
		asked.Rule = rs.Staged
	}
	if asked.MaxSamples == 0 {
		asked.MaxSamples = (stopping.DefaultMaxSamples + asked.Block - 1) / asked.Block * asked.Block
	}
	options := []rs.Options{asked}
	for _, rule := range []rs.Rule{rs.Staged, rs.Fixed} {
		for _, n := range sizes {
			o := asked
			o.Rule, o.MaxSamples = rule, (n+o.Block-1)/o.Block*o.Block
			if rule != asked.Rule {
				o.Tolerance, o.Relative, o.Radii, o.Futility, o.Selection = 0, false, nil, 0, 0
			}
			if rule != asked.Rule || o.MaxSamples != asked.MaxSamples {
				options = append(options, o)
			}
		}
	}
	var plans []Plan
	known := p.probabilities()
	for _, o := range options {
		plan, err := forecast(known, o, images, p.rate)
		if err != nil {
			return nil, err
		}
		if budget > 0 {
			fits := plan.Seconds <= budget.Seconds()
			plan.Fits = &fits
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// Votes is the knowledge about the probability of an image's class: so many hits among so many noise samples.
// Wrong: it is not the label.
type Votes struct {
	Hits, Samples int
	Wrong         bool
}

// forecast is a run with these settings on so many images, of which those known are a sample. Where the class got k of
// the m known samples, its probability is taken to have the distribution Beta(k+½, m−k+½) (the posterior of
// Jeffreys' prior), as m out of m may come from 0.98 or from 1, which differ much in samples.
func forecast(known []Votes, o rs.Options, images int, rate float64) (Plan, error) {
	const points = 16 // of the distribution, at its quantiles (j+½)/16
	run, err := o.Plan()
	if err != nil {
		return Plan{}, err
	}
	type mean struct{ samples, radius float64 }
	done := map[Votes]mean{}
	var sum mean
	for _, v := range known {
		f, ok := done[v]
		if !ok {
			for j := range points {
				at := mathext.InvRegIncBeta(float64(v.Hits)+0.5, float64(v.Samples-v.Hits)+0.5, (float64(j)+0.5)/points)
				samples, radius := run.Forecast(at)
				f.samples += float64(samples) / points
				f.radius += radius / points
			}
			done[v] = f
		}
		sum.samples += f.samples
		if !v.Wrong {
			sum.radius += f.radius
		}
	}
	n := float64(len(known))
	plan := Plan{Rule: rs.Rule(run.Header().Name), MaxSamples: run.MaxSamples(), RadiusCap: run.RadiusCap(),
		MeanRadius: sum.radius / n, Samples: math.Round(sum.samples / n * float64(images))}
	if rate > 0 {
		plan.Seconds = plan.Samples / rate
	}
	return plan, nil
}

// unasked is the longest run without a budget that needs no warning.
const unasked = time.Hour

// checkTime compares the run asked for with the budget, or with unasked, and names the plans that fit.
func checkTime(plans []Plan, images int, budget time.Duration) Check {
	c := Check{Name: "time", Verdict: OK}
	if len(plans) == 0 {
		c.Found = "Not planned: a run of a model that does no better than guessing would be wasted."
		c.Verdict = Warning
		c.Advice = "Mend the accuracy on the images as they are first."
		return c
	}
	asked := plans[0]
	c.Found = fmt.Sprintf("The run asked for (%s, n = %s, %s images) takes about %s.", asked.Rule,
		printable.Count(asked.MaxSamples), printable.Count(images), asked.Duration())
	limit := budget
	if limit == 0 {
		limit = unasked
	}
	if asked.Seconds <= limit.Seconds() {
		return c
	}
	c.Verdict = Warning
	var best *Plan
	for i := range plans {
		// Of what fits, the plan that certifies most; radii count to a thousandth.
		if plan := &plans[i]; plan.Seconds <= limit.Seconds() && (best == nil || plan.MeanRadius > best.MeanRadius+0.001) {
			best = plan
		}
	}
	if best == nil {
		fitting := int(float64(images) * limit.Seconds() / asked.Seconds)
		c.Advice = fmt.Sprintf("No usual plan fits into %s for all images; about %d fit as asked for (--count %[2]d).",
			human(limit), max(1, fitting))
		return c
	}
	c.Advice = fmt.Sprintf("Into %s fits --rule %s --n %d: about %s, radii up to %.3f.", human(limit), best.Rule,
		best.MaxSamples, best.Duration(), best.RadiusCap)
	if budget == 0 {
		c.Advice += " So do fewer images (--count), or shards on several machines; --budget sets another time."
	}
	return c
}
