package stopping

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// OptionErrorf makes an OptionError.
func OptionErrorf(format string, args ...any) error {
	return &rule.OptionError{Reason: fmt.Sprintf(format, args...)}
}

// common fills in and checks what all rules have.
func common(s *rule.Settings) error {
	if err := CheckSigma(s.Sigma); err != nil {
		return err
	}
	if s.Rule == "" {
		s.Rule = rule.Staged
	}
	s.Alpha = cmp.Or(s.Alpha, DefaultAlpha)
	if err := CheckAlpha(s.Alpha); err != nil {
		return err
	}
	s.Block = cmp.Or(s.Block, DefaultBlock)
	if s.Block < 1 {
		return OptionErrorf("Block is %d noise samples, want at least 1", s.Block)
	}
	if s.MaxSamples == 0 {
		s.MaxSamples = DefaultMaxSamples
		if s.Rule == rule.Anytime {
			s.MaxSamples = max(1, anytimeMost/s.Block) * s.Block
		}
	}
	if err := CheckSamples("MaxSamples", s.MaxSamples, s.Block); err != nil {
		return err
	}
	if s.Selection == 0 {
		s.Selection = DefaultSelection
		if s.Rule == rule.ISS {
			s.Selection = defaultISSSelection
		}
		s.Selection = RoundUp(s.Selection, s.Block)
	}
	return CheckSamples("Selection", s.Selection, s.Block)
}

// only refuses settings that the rule does not have, which would have no effect.
func only(s *rule.Settings) error {
	for _, c := range []struct {
		name  string
		given bool
		rules []ledger.RuleName
	}{
		{"Tolerance", s.Tolerance != 0, []ledger.RuleName{rule.Staged, rule.ISS}},
		{"Relative", s.Relative, []ledger.RuleName{rule.ISS}},
		{"Radii", len(s.Radii) > 0, []ledger.RuleName{rule.Betting}},
		{"Futility", s.Futility != 0, []ledger.RuleName{rule.Betting}},
		{"Shards", s.Shards > 1, []ledger.RuleName{rule.Anytime}},
		{"OnlyCorrect", s.OnlyCorrect, []ledger.RuleName{rule.Betting}},
	} {
		if c.given && !slices.Contains(c.rules, s.Rule) {
			return OptionErrorf("%s is set, but the rule %q has none", c.name, s.Rule)
		}
	}
	return nil
}

// tolerance fills in and checks a radius to give up.
func tolerance(s *rule.Settings) error {
	if s.Tolerance == 0 && !s.Relative {
		s.Tolerance = 0.04 * s.Sigma
	}
	switch {
	case s.Relative && !(s.Tolerance > 0 && s.Tolerance < 1):
		return OptionErrorf("Tolerance is %v, want a fraction of the radius between 0 and 1", s.Tolerance)
	case !(s.Tolerance > 0) || math.IsInf(s.Tolerance, 0):
		return OptionErrorf("Tolerance is %v, want a positive radius", s.Tolerance)
	}
	return nil
}

// CheckSigma refuses what is no standard deviation.
func CheckSigma(sigma float64) error {
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return OptionErrorf("Sigma is %v, want a positive number", sigma)
	}
	return nil
}

// CheckAlpha refuses what is no failure probability.
func CheckAlpha(alpha float64) error {
	if !(alpha > 0 && alpha < 1) {
		return OptionErrorf("Alpha is %v, want a number between 0 and 1", alpha)
	}
	return nil
}

// CheckSamples refuses a number of noise samples that whole blocks do not make up.
func CheckSamples(field string, n, block int) error {
	switch {
	case n < 1 || n > bound.MaxTrials:
		return OptionErrorf("%s is %d noise samples, want 1 to %d", field, n, bound.MaxTrials)
	case n%block != 0:
		return OptionErrorf("%s is %d noise samples, want a multiple of the block of %d, e.g. %d", field, n, block,
			RoundUp(n, block))
	}
	return nil
}

// defaultISSSelection is the number of samples that choose the class under ISS.
const defaultISSSelection = 1000

// RoundUp is the least multiple of block that is at least n.
func RoundUp(n, block int) int { return (n + block - 1) / block * block }

// list names all rules for a message.
func list() string {
	var names []string
	for _, n := range Names() {
		names = append(names, fmt.Sprintf("%q", n))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// must is for arguments that were checked when the plan was made.
func must[T any](v T, err error) T {
	if err != nil {
		panic("rule: " + err.Error())
	}
	return v
}
