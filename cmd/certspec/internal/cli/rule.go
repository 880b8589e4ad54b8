package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// SigmaFlag adds --sigma.
func (f *Flags) SigmaFlag(p *float64) {
	f.Float64Var(p, "sigma", 0, "standard deviation of the noise, 1 = full range")
}

// NoiseFlag adds --noise.
func (f *Flags) NoiseFlag(p *noise.Law) {
	const usage = "law of the noise: grid (sound in floating point), gaussian (in real arithmetic only), or " +
		"spectrum:grey@0=0.05, which is grid and a shift of all values together, with that standard deviation: " +
		"certspec prove LEDGER then proves brightness"
	Choice(f, p, "noise", noise.Law("grid"), usage, "grid", "gaussian")
	flag := f.Lookup("noise")
	flag.Value = lawValue{flag.Value, p}
}

// lawValue is a choice of laws that also takes a spectrum.
type lawValue struct {
	pflag.Value
	law *noise.Law
}

func (v lawValue) Set(text string) error {
	if !strings.HasPrefix(text, "spectrum:") {
		return v.Value.Set(text)
	}
	law, err := noise.ParseLaw(text)
	if err == nil {
		*v.law = law
	}
	return err
}

// RuleFlag adds --rule.
func (f *Flags) RuleFlag(p *rs.Rule, rules ...rs.Rule) {
	Choice(f, p, "rule", rs.Staged,
		"rule for the number of noise samples of an image: staged (stops early), fixed, iss (by a pilot of n0 "+
			"samples), "+
			"betting (until --radii are decided), anytime (where they raise radii most, until --budget); certspec "+
			"plan compares them", rules...)
}

// Rules are all stopping rules.
var Rules = []rs.Rule{rs.Staged, rs.Fixed, rs.ISS, rs.Betting, rs.Anytime}

// RunFlags adds the settings of a run: noise, rule and seed. CheckRun checks them once flags are read.
func RunFlags(cmd *cobra.Command, o *rs.Options) {
	Group(cmd, Noise, func(f *Flags) {
		f.SigmaFlag(&o.Sigma)
		f.IntVar(&o.MaxSamples, "n", stopping.DefaultMaxSamples, "maximum number of noise samples of an image")
		f.RuleFlag(&o.Rule, Rules...)
		f.Float64Var(&o.Alpha, "alpha", stopping.DefaultAlpha, "bound on the probability that the claim on an image is false")
		planFlags(f, o)
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the noise (default derived from model, data and settings)")
	})
}

// PlanFlags adds the settings that all rules are compared under.
func PlanFlags(cmd *cobra.Command, o *rs.Options) {
	Group(cmd, Noise, func(f *Flags) {
		f.SigmaFlag(&o.Sigma)
		f.IntVar(&o.MaxSamples, "n", stopping.DefaultMaxSamples, "maximum number of noise samples of an image")
		f.Float64Var(&o.Alpha, "alpha", stopping.DefaultAlpha, "bound on the probability that the claim on an image is false")
		planFlags(f, o)
	})
}

func planFlags(f *Flags, o *rs.Options) {
	f.IntVar(&o.Selection, "n0", 0, "noise samples that choose the class (default 100, of the rule iss 1000)")
	f.Float64Var(&o.Tolerance, "tolerance", 0,
		"for the rules staged and iss: radius given up for fewer samples (default 0.04 sigma)")
	f.BoolVar(&o.Relative, "relative", false, "for the rule iss: the tolerance is a fraction of the radius")
	f.Float64Var(&o.Futility, "futility", 0,
		"for the rule betting: level of the test that stops hopeless images (default alpha)")
	f.NoiseFlag(&o.Noise)
	f.IntVar(&o.Block, "block", stopping.DefaultBlock, "noise samples in one call of the model")
	f.IntVar(&o.Workers, "workers", 0,
		"calls of the model at once (default: measured at the start, and remembered beside the ledger)")
	f.Var((*size)(&o.Memory), "memory",
		"memory for noise samples at once, beside the model, as 4GB (default at most half of the free memory)")
}

// size is a number of bytes.
type size int64

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return fmt.Sprintf("%gMB", float64(*s)/1e6)
}

func (s *size) Type() string { return "size" }

func (s *size) Set(text string) error {
	digits := strings.TrimRight(text, "KMGTiB")
	unit, known := map[string]float64{"MB": 1e6, "GB": 1e9, "TB": 1e12, "MiB": 1 << 20, "GiB": 1 << 30,
		"TiB": 1 << 40}[text[len(digits):]]
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || !(v > 0 && v*unit < 1<<60) {
		return fmt.Errorf("expected a number and a unit, as 500MB or 4GB")
	}
	*s = size(v * unit)
	return nil
}

// CheckRun checks the flags that RunFlags or PlanFlags added.
func CheckRun(cmd *cobra.Command) error {
	return NotZero(cmd, "n", "n0", "alpha", "tolerance", "futility", "block", "workers")
}
