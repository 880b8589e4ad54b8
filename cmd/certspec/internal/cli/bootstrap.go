package cli

import (
	"github.com/certspec/certspec/resample"
)

// BootstrapFlags adds the settings of the bootstrap over images.
func (f *Flags) BootstrapFlags(o *resample.Options) {
	f.IntVar(&o.Resamples, "resamples", 10_000, "resamples of the bootstrap")
	f.Float64Var(&o.Confidence, "confidence", resample.DefaultConfidence, "confidence of the intervals")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the bootstrap")
}

// CheckBootstrap checks them: 0 would be the default.
func CheckBootstrap(o resample.Options) error {
	switch {
	case o.Resamples < 1:
		return Usagef("--resamples %d: expected more than 0", o.Resamples)
	case !(o.Confidence > 0):
		return Usagef("--confidence %v: expected more than 0", o.Confidence)
	}
	return nil
}
