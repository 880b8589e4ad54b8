package experiment

import "github.com/certspec/certspec/spectral"

// Measure holds the settings that a table gives under the key of a measure. By its name, package plan
// knows its jobs and their cost, package run does them, and package results reads what they left.
type Measure interface{ Name() string }

// declared are all measures but that of certified radii, at their defaults, in the order in which a
// model's jobs are done and its tables stand.
var declared = []func() Measure{
	func() Measure { return &calibrationMeasure{} },
	func() Measure { return &attackMeasure{} },
	func() Measure { return new(agreementMeasure) },
	func() Measure { return &heatmapMeasure{Epsilon: spectral.DefaultEpsilon} },
	func() Measure { return &evaluateMeasure{} },
	func() Measure { return &boundMeasure{} },
	func() Measure { return &adversaryMeasure{} },
	func() Measure { return &recordMeasure{} },
}

// Declared are all measures at their defaults.
func Declared() (all []Measure) {
	all = append(all, radiusMeasure{})
	for _, empty := range declared {
		all = append(all, empty())
	}
	return all
}

// Name is that of certified radii, whose settings stand beside the keys of the others.
func (radiusMeasure) Name() string { return "radius" }

// Name is the key under which tables ask for it.
func (*calibrationMeasure) Name() string { return "calibration" }

// Name is the key under which tables ask for it.
func (*attackMeasure) Name() string { return "ace" }

// Name is the key under which tables ask for it.
func (*agreementMeasure) Name() string { return "agreement" }

// Name is the key under which tables ask for it.
func (*heatmapMeasure) Name() string { return heatmapKey }

// Name is the key under which tables ask for it.
func (*evaluateMeasure) Name() string { return "evaluate" }

// Name is the key under which tables ask for it.
func (*boundMeasure) Name() string { return "bound" }

// Name is the key under which tables ask for it.
func (*adversaryMeasure) Name() string { return "attack" }

// Name is the key under which tables ask for it.
func (*recordMeasure) Name() string { return "record" }
