package main

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// settingsFlags adds the settings of a run, but for the rule itself. The function checks them once flags are read.
func settingsFlags(cmd *cobra.Command, o *rs.Options) func() error {
	f := cmd.Flags()
	var law string
	f.Float64Var(&o.Sigma, "sigma", 0, "standard deviation of the noise, 1 = full range")
	f.IntVar(&o.MaxSamples, "n", rs.DefaultMaxSamples, "most copies behind a bound")
	f.IntVar(&o.Selection, "n0", 0, "copies that choose the class (default 100, of the rule iss 1000)")
	f.Float64Var(&o.Alpha, "alpha", rs.DefaultAlpha, "bound on the probability that the claim on an image is false")
	f.Float64Var(&o.Tolerance, "tolerance", 0, "of the rules staged and iss: radius given up for fewer copies (default 0.04 sigma)")
	f.BoolVar(&o.Relative, "relative", false, "of the rule iss: the tolerance is a fraction of the radius")
	f.Float64Var(&o.Futility, "futility", 0, "of the rule betting: level of the test that stops hopeless images (default alpha)")
	f.StringVar(&law, "noise", "grid", "law of the noise: grid (sound in floating point) or gaussian (in real arithmetic only)")
	f.IntVar(&o.Block, "block", rs.DefaultBlock, "copies in one call of the model")
	f.IntVar(&o.Workers, "workers", 0, "calls of the model at once (default enough for all processors)")
	return func() error {
		o.Noise = noise.Law(law)
		return notZero(cmd, "n", "n0", "alpha", "tolerance", "futility", "block", "workers")
	}
}
