package rs

import (
	"github.com/certspec/certspec/rs/ledger"
)

// Forecast says what an image takes, in noisy copies with those of the selection, and the radius it gets,
// when the selection and each look of the rule see the expected share p of hits, rounded down. A single image may do
// better or worse; the mean over many is what a plan of time needs.
//
// Errors: settings out of range, as *OptionError; p outside [0, 1].
func (o Options) Forecast(p float64) (copies int, radius float64, err error) {
	plan, err := o.plan()
	if err != nil {
		return 0, 0, err
	}
	if !(p >= 0 && p <= 1) {
		return 0, 0, optionErrorf("the probability is %v, want a number from 0 to 1", p)
	}
	t := plan.Trial(0, 0)
	for hits, seen := 0, 0; !t.Done(); {
		from, to := t.Blocks()
		n := (to - from) * plan.Block()
		look := ledger.Look{From: from, To: to}
		if from == 0 { // the selection finds the class, by one vote at least
			look.Counts = []ledger.Count{{Class: 0, N: max(1, int(p*float64(n)))}}
		} else {
			seen += n
			sum := int(p * float64(seen))
			look.Counts = []ledger.Count{{Class: 0, N: sum - hits}}
			hits = sum
		}
		if err := t.Add(look); err != nil {
			panic("rs: " + err.Error())
		}
	}
	return t.Passes, t.Radius, nil
}

// RadiusCap is the largest radius that a run with these settings can certify.
//
// Errors: settings out of range, as *OptionError.
func (o Options) RadiusCap() (float64, error) {
	plan, err := o.plan()
	if err != nil {
		return 0, err
	}
	return plan.RadiusCap(), nil
}
