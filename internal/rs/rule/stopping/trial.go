package stopping

import (
	"fmt"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// Trial is the state of one image: a pure function of the looks it was given.
type Trial struct {
	Image, Label int
	rule.Outcome // as it stands; its class is the candidate until the trial is done

	plan    *Plan
	look    int // that comes next; −1: the selection
	votes   int // of the class in the selection; −1: not known
	hits    int // in the looks so far
	targets int // that are certified
	done    bool
	made    bool // all looks were made: none is the last
}

// Trial begins the trial of an image.
func (p *Plan) Trial(image, label int) *Trial {
	return &Trial{Image: image, Label: label, Outcome: rule.Outcome{Class: Abstain}, plan: p, look: -1, votes: -1}
}

// Done reports whether the image is decided.
func (t *Trial) Done() bool { return t.done }

// Looks is the number of looks behind the selection that were taken.
func (t *Trial) Looks() int { return max(0, t.look) }

// Selected reports whether the selection is over, so that the class of the image is known. A part by blocks never knows
// it.
func (t *Trial) Selected() bool { return t.plan.part == nil && t.look >= 0 }

// Blocks is the range of the look that comes next.
func (t *Trial) Blocks() (from, to int) {
	if part := t.plan.part; part != nil {
		return part[t.look+1], part[t.look+2]
	}
	if t.look >= 0 {
		from = t.end(t.look - 1)
	}
	return from, t.end(t.look)
}

// EndsAt reports whether the look that comes next may end at this block: where it was planned to, or under Anytime
// after any block.
func (t *Trial) EndsAt(block int) bool {
	from, to := t.Blocks()
	return block == to || t.plan.open() && t.look >= 0 && from < block && block < to
}

// Wanted is the block up to which work will be needed as far as one can know: the end of the next look. During the
// selection it is the end of the first look, which nearly always follows. Possible is the end of all work that could
// still be needed.
func (t *Trial) Wanted() int {
	if t.done {
		return 0
	}
	if t.plan.part != nil {
		return t.Possible()
	}
	return t.end(max(t.look, 0))
}

// Possible is described at Wanted.
func (t *Trial) Possible() int {
	if t.done {
		return 0
	}
	if part := t.plan.part; part != nil {
		return part[len(part)-1]
	}
	return t.end(t.plan.last())
}

// end is the block at which look i ends; look −1 is the selection.
func (t *Trial) end(i int) int {
	samples := t.plan.selection
	if i >= 0 {
		samples += t.plan.method.samples(i, t.votes)
	}
	return samples / t.plan.block
}

// Add takes the look that comes next. It refuses one of other blocks.
func (t *Trial) Add(l ledger.Look) error {
	if t.done {
		return fmt.Errorf("image %d has blocks %d to %d, but was decided before them", l.Image, l.From, l.To)
	}
	if t.look > t.plan.last() && t.plan.part == nil {
		return fmt.Errorf("image %d has blocks %d to %d behind the last look", l.Image, l.From, l.To)
	}
	from, to := t.Blocks()
	if l.From != from || l.To != to && !t.EndsAt(l.To) {
		return fmt.Errorf("image %d has a look at blocks %d to %d, the rule looks at %d to %d", l.Image, l.From, l.To,
			from, to)
	}
	t.Passes += (l.To - l.From) * t.plan.block
	t.Misses += l.Misses
	switch {
	case t.plan.part != nil:
		t.done = to == t.Possible()
	case t.look < 0:
		t.choose(l)
	default:
		for _, c := range l.Counts {
			if int(c.Class) == t.Class {
				t.hits += c.N
			}
		}
		last := t.plan.method.judge(t, t.look, l.To*t.plan.block-t.plan.selection)
		t.done = last && !t.made
	}
	t.look++
	if t.done {
		t.Outcome = t.Settled()
	}
	return nil
}

// choose takes the class with the most votes of the selection, the smallest of equals. Without any vote,
// where the rule has no look for so few, or where only correct classes count, nothing can be certified.
func (t *Trial) choose(l ledger.Look) {
	t.votes = 0
	for _, c := range l.Counts {
		if c.N > t.votes {
			t.Class, t.votes = int(c.Class), c.N
		}
	}
	t.done = t.votes == 0 || t.plan.method.samples(0, t.votes) == 0 ||
		t.plan.onlyCorrect && t.Label >= 0 && t.Class != t.Label
}

// Settled is the outcome if the trial ends here. Whether it then holds with the same probability, see Anytime.
func (t *Trial) Settled() rule.Outcome {
	o := t.Outcome
	if o.Lower < 0.5 {
		o.Class = Abstain
	}
	return o
}
