package stopping

import (
	"fmt"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// ScoreAlpha returns the level of a two-sided bound on the scores of the samples up to a look, counted from 0. With
// these levels the bounds at all looks hold together with probability at least 1−alpha, however the rule chose the look
// at which it stopped:
//
//	fixed, iss  alpha, at the one look, whose number of samples does not depend on these samples
//	staged      alpha/J at each of J looks
//	betting     alpha/((look+1)(look+2)), which sums to less than alpha over any number of looks
//
// Errors: a rule for whose looks no such levels are known; a look that the rule does not have.
func (p *Plan) ScoreAlpha(look int, alpha float64) (float64, error) {
	if look < 0 || look > p.last() {
		return 0, fmt.Errorf("the rule %q has no look %d", p.rule.Name, look)
	}
	switch ledger.RuleName(p.rule.Name) {
	case rule.Fixed, rule.ISS:
		return alpha, nil
	case rule.Staged:
		return alpha / float64(len(p.rule.Looks)), nil
	case rule.Betting:
		return alpha / (float64(look+1) * float64(look+2)), nil
	}
	return 0, OptionErrorf("the rule %q has no bound on scores that holds at all its looks", p.rule.Name)
}
