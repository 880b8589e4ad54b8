// Package stopping makes a rule concrete: when an image is looked at, when it is decided, and what its counts prove.
//
// A Plan is a rule with all its numbers. A Trial is one image under a plan: a pure function of the looks
// that it is given. No model and no noise are known here.
package stopping

import (
	"fmt"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// Plan is a rule with all its numbers. It is immutable and safe for concurrent use.
type Plan struct {
	rule             ledger.Rule
	sigma, alpha     float64
	block, selection int
	method           method
	judges           bool  // looks that were made under another level: see At
	part             []int // the ends of the looks of a shard by blocks, the first block in front; nil: all blocks
	onlyCorrect      bool
}

// method is the part that is special to a rule. A look is named by its number, from 0 on.
type method interface {
	// samples is the number of samples in the looks up to i, of an image whose class has so many votes in the
	// selection; 0: there is no look. It asks with −1 votes while the selection goes on.
	samples(i, votes int) int

	// judge takes look i, of n samples in all, into the outcome of the trial, and reports whether no look follows.
	judge(t *Trial, i, n int) (last bool)

	// most is the largest radius that can be certified.
	most() float64
}

// kinds are the rules. A rule has its plan in the header's form, so that a run and a reader of its ledger go by
// the same numbers.
var kinds = map[ledger.RuleName]struct {
	plan func(*rule.Settings) (ledger.Rule, error) // fills in defaults of its own
	read func(*Plan) (method, error)
}{
	rule.Fixed:   {planFixed, readFixed},
	rule.Staged:  {planStaged, readStaged},
	rule.ISS:     {planISS, readISS},
	rule.Betting: {planBetting, readBetting},
	rule.Anytime: {planAnytime, readAnytime},
}

// Names are all rules.
func Names() []ledger.RuleName {
	return []ledger.RuleName{rule.Fixed, rule.Staged, rule.ISS, rule.Betting, rule.Anytime}
}

// New makes a plan. Errors: settings out of range, as *OptionError.
func New(s rule.Settings) (*Plan, error) {
	if err := common(&s); err != nil {
		return nil, err
	}
	kind, ok := kinds[s.Rule]
	if !ok {
		return nil, OptionErrorf("Rule is %q, want %s", s.Rule, list())
	}
	if err := only(&s); err != nil {
		return nil, err
	}
	r, err := kind.plan(&s)
	if err != nil {
		return nil, err
	}
	r.Name = s.Rule
	p := &Plan{rule: r, sigma: s.Sigma, alpha: s.Alpha, block: s.Block, selection: s.Selection,
		onlyCorrect: s.OnlyCorrect}
	if p.method, err = kind.read(p); err != nil {
		return nil, OptionErrorf("%v", err)
	}
	return p, nil
}

// Of reads the plan of a ledger, or of the shard that it holds.
//
// Errors: a rule that this program does not know, and numbers that no plan has.
func Of(h ledger.Header) (*Plan, error) {
	kind, ok := kinds[h.Rule.Name]
	if !ok {
		return nil, fmt.Errorf("the rule is %q; this program knows %s", h.Rule.Name, list())
	}
	p := &Plan{rule: h.Rule, sigma: h.Sigma, alpha: h.Alpha, block: h.Block, selection: h.Selection}
	if err := CheckSamples("selection", p.selection, p.block); err != nil {
		return nil, err
	}
	switch name := h.Rule.Name; {
	case len(h.Rule.Looks) == 0:
		return nil, fmt.Errorf("the rule %q has no look", name)
	case len(h.Rule.Sizes) > 0 && name != rule.ISS:
		return nil, fmt.Errorf("the rule %q has sizes, which only %q has", name, rule.ISS)
	case len(h.Rule.Targets) > 0 && name != rule.Betting:
		return nil, fmt.Errorf("the rule %q has targets, which only %q has", name, rule.Betting)
	}
	spent := 0.0
	for _, l := range h.Rule.Looks {
		if err := CheckSamples("look", l.Samples, p.block); err != nil {
			return nil, err
		}
		if spent += l.Alpha; h.Rule.Name == rule.Betting {
			spent = l.Alpha
		}
		if spent > h.Alpha*(1+1e-9) {
			return nil, fmt.Errorf("the looks up to %d noise samples spend %v of an alpha of %v", l.Samples, spent,
				h.Alpha)
		}
	}
	var err error
	if p.method, err = kind.read(p); err != nil {
		return nil, err
	}
	if h.Shard != nil && h.Shard.By == ledger.ShardBlocks {
		return p.Part(*h.Shard)
	}
	return p, nil
}

// Header is the rule as the ledger's header has it.
func (p *Plan) Header() ledger.Rule { return p.rule }

// Selection is the number of samples that choose the class.
func (p *Plan) Selection() int { return p.selection }

// Alpha bounds the probability that the claim on an image is false.
func (p *Plan) Alpha() float64 { return p.alpha }

// Block is the number of samples in a block.
func (p *Plan) Block() int { return p.block }

// MaxSamples is the largest number of samples behind a bound.
func (p *Plan) MaxSamples() int { return p.rule.Looks[len(p.rule.Looks)-1].Samples }

// RadiusCap is the largest radius that the plan can certify: that of an image whose samples all hit.
func (p *Plan) RadiusCap() float64 { return p.method.most() }

// Radii are those that certified accuracy is stated at: the tested ones under Betting, else the multiples of 0.25 up to
// the cap.
func (p *Plan) Radii() (radii []float64) {
	for _, t := range p.rule.Targets {
		radii = append(radii, t.Radius)
	}
	if radii == nil {
		for i := 0; float64(i)/4 <= p.RadiusCap(); i++ {
			radii = append(radii, float64(i)/4)
		}
	}
	return radii
}

// Anytime reports whether a trial may end at any of its looks, at a deadline for instance. Its claim is then still
// false with probability at most α.
func (p *Plan) Anytime() bool {
	return p.rule.Name == rule.Staged || p.rule.Name == rule.Betting || p.open()
}

// open reports whether a look may end after any number of blocks.
func (p *Plan) open() bool { return p.rule.Name == rule.Anytime }

// last is the number of the last look.
func (p *Plan) last() int { return len(p.rule.Looks) - 1 }

// Part is the plan of one shard by blocks. Its trials count and prove nothing: the merged run does.
//
// Errors: a rule other than Fixed, more shards than blocks, as *OptionError.
func (p *Plan) Part(s ledger.Shard) (*Plan, error) {
	if p.rule.Name != rule.Fixed {
		return nil, OptionErrorf("the rule %q cannot be split by blocks: which it looks at depends on what it saw; "+
			"split it by images", p.rule.Name)
	}
	blocks := (p.selection + p.MaxSamples()) / p.block
	if s.Count > blocks {
		return nil, OptionErrorf("%d shards of %d blocks an image, want at most one for each block", s.Count, blocks)
	}
	from, to, chosen := blocks*s.Index/s.Count, blocks*(s.Index+1)/s.Count, p.selection/p.block
	q := *p
	q.part = []int{from, to}
	if from < chosen && chosen < to {
		q.part = []int{from, chosen, to}
	}
	return &q, nil
}
