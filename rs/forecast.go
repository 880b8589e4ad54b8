package rs

import "github.com/certspec/certspec/rs/ledger"

// Forecast says what an image takes, in noisy copies with those of the selection, and the radius it gets,
// when each look of the rule sees the expected share p of hits, rounded down. A single image may do
// better or worse; the mean over many is what a plan of time needs.
//
// Errors: settings out of range, as *OptionError; p outside [0, 1].
func (o Options) Forecast(p float64) (copies int, radius float64, err error) {
	if o, err = o.withDefaults(); err != nil {
		return 0, 0, err
	}
	if !(p >= 0 && p <= 1) {
		return 0, 0, optionErrorf("the probability is %v, want a number from 0 to 1", p)
	}
	t := newTrial(newPlan(o), 0, 0)
	for hits := 0; !t.done; {
		from, to := t.blocks()
		look := ledger.Look{From: from, To: to, Counts: []ledger.Count{{Class: 0, N: o.Selection}}}
		if t.look >= 0 {
			sum := int(p * float64(t.plan.looks[t.look].Copies))
			look.Counts[0].N = sum - hits
			hits = sum
		}
		if err := t.add(look); err != nil {
			panic("rs: " + err.Error())
		}
	}
	return t.row.Passes, t.row.Radius, nil
}

// RadiusCap is the largest radius that a run with these settings can certify.
//
// Errors: settings out of range, as *OptionError.
func (o Options) RadiusCap() (float64, error) {
	o, err := o.withDefaults()
	if err != nil {
		return 0, err
	}
	return newPlan(o).radiusCap(), nil
}
