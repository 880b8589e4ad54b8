package rule

import (
	"fmt"

	"github.com/certspec/certspec/rs/ledger"
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
func (p *Plan) Judge(looks []ledger.Look) (Outcome, error) {
	if len(looks) == 0 {
		return Outcome{}, fmt.Errorf("no looks")
	}
	t := p.Trial(looks[0].Image, looks[0].Label)
	t.made = true
	for _, look := range looks {
		if err := t.Add(look); err != nil {
			return Outcome{}, err
		}
	}
	return t.Settled(), nil
}
