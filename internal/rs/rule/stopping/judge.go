package stopping

import (
	"fmt"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// At returns the plan that judges the same looks at the level alpha, each look with its share of it. It is for Judge:
// the number of noise samples of an image follows from the level of the run.
//
// Errors: an alpha that is not in (0, the plan's], as *OptionError.
func (p *Plan) At(alpha float64) (*Plan, error) {
	if !(alpha > 0 && alpha <= p.alpha) {
		return nil, OptionErrorf("the level is %v, want a number above 0 and at most the ledger's, %v", alpha, p.alpha)
	}
	q := *p
	q.alpha, q.judges = alpha, true
	q.rule.Looks = make([]ledger.Level, len(p.rule.Looks))
	for i, level := range p.rule.Looks {
		q.rule.Looks[i] = ledger.Level{Samples: level.Samples, Alpha: level.Alpha * (alpha / p.alpha)}
	}
	var err error
	q.method, err = kinds[p.rule.Name].read(&q)
	return &q, err
}

// Judge returns the outcome of an image whose looks were all made, the selection first, under the plan or one that
// differs from it in its level.
//
// Errors: no looks, other looks than those of the plan.
func (p *Plan) Judge(looks []ledger.Look) (rule.Outcome, error) {
	if len(looks) == 0 {
		return rule.Outcome{}, fmt.Errorf("no looks")
	}
	t := p.Trial(looks[0].Image, looks[0].Label)
	t.made = true
	for _, look := range looks {
		if err := t.Add(look); err != nil {
			return rule.Outcome{}, err
		}
	}
	return t.Settled(), nil
}

// ClassBound returns a lower bound on the probability of one class. It takes the hits of the class and the noise
// samples up to each look that an image had, those of the selection left out. It is the best over these looks. It takes
// the given part of what each look spends of α, so it is false with probability at most part·α, whatever stopped the
// image. The class must be fixed before the samples were drawn or follow from the selection. With misses for hits it
// bounds 1−p, and so p from above. Under Betting it is the probability of the largest target that is won.
//
// Errors: part not in (0, 1]; part below 1 under Betting, whose targets are tested at all of α.
func (p *Plan) ClassBound(hits, samples []int, part float64) (best bound.Probability, err error) {
	if !(part > 0 && part <= 1) {
		return best, OptionErrorf("the part of alpha is %v, want a number above 0 and at most 1", part)
	}
	best = bound.Probability{P: 0, Q: 1}
	b, bets := p.method.(*betting)
	if bets && part < 1 {
		return best, OptionErrorf("the rule %q spends all of alpha on its targets: no part is left", rule.Betting)
	}
	won := 0
	for i, k := range hits {
		at := best
		switch {
		case bets:
			for ; won < len(b.targets) && k >= lookUp(b.targets[won].least, i, b.targets[won].above,
				samples[i]); won++ {
				at = b.targets[won].above.P0()
			}
		case p.open():
			var sequence *bound.Mixture
			if sequence, err = bound.NewMixture(p.rule.Looks[0].Alpha*part, anytimeStrength); err == nil {
				at, err = sequence.Lower(k, samples[i])
			}
		default:
			at, err = bound.Lower(k, samples[i], p.rule.Looks[i].Alpha*part)
		}
		if err != nil {
			return best, err
		}
		if at.Q < best.Q {
			best = at
		}
	}
	return best, nil
}
