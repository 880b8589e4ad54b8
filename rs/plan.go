package rs

import (
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// Plan is a rule made concrete: what an image takes, and what can be certified of it.
type Plan struct{ of *stopping.Plan }

// Plan makes the rule concrete, with defaults filled in.
//
// Errors: settings out of range, as *rule.OptionError.
func (o Options) Plan() (Plan, error) {
	p, err := o.plan()
	return Plan{p}, err
}

func (o Options) plan() (*stopping.Plan, error) {
	if o.Shards != 0 {
		return nil, optionErrorf("Shards is %d, but follows from Shard: leave it unset", o.Shards)
	}
	o.Shards = o.spreads()
	return stopping.New(o.Settings())
}

// Header returns the rule as a ledger has it, with its looks and how they spend α.
func (p Plan) Header() ledger.Rule { return p.of.Header() }

// Alpha returns the bound on the probability that the claim on an image is false.
func (p Plan) Alpha() float64 { return p.of.Alpha() }

// Selection returns the number of noise samples that choose the class.
func (p Plan) Selection() int { return p.of.Selection() }

// Block returns the number of noise samples in one call of the model.
func (p Plan) Block() int { return p.of.Block() }

// MaxSamples returns the largest number of noise samples behind a bound.
func (p Plan) MaxSamples() int { return p.of.MaxSamples() }

// RadiusCap returns the largest radius that can be certified, unit: full range of a value.
func (p Plan) RadiusCap() float64 { return p.of.RadiusCap() }

// Forecast returns the noise samples that an image takes whose class has a probability, those of the selection
// included, and the radius that it gets. Every look sees the expected share of hits. A plan of time needs the
// mean over many images.
func (p Plan) Forecast(probability float64) (samples int, radius float64) {
	return p.of.Forecast(probability)
}
