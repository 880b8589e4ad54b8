package main

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// drawer makes trials of a rule without noise and network: where the probabilities of the classes are known, counts can be drawn by
// their exact law. All else is the rule's own: where it looks, what it claims. What it says to the same counts is asked once.
//
// Under Anytime a trial is judged after every block, and is false if it ever was: whoever stops the run at the worst moment.
type drawer struct {
	plan  *stopping.Plan
	truth truth
	n     int // of Anytime: noise samples behind the selection
	laws  map[binomialOf]binomial
	roots map[drawnLook]*drawnTrial
	ends  map[drawnLook]claimed
}

// drawnTrial is a trial behind some looks, and those that follow, by their hits.
type drawnTrial struct {
	trial         stopping.Trial
	claims, wrong bool
	law           binomial
	next          map[int]*drawnTrial
}

type binomialOf struct {
	n int
	p float64
}

// drawnLook is a number of noise samples and a class.
type drawnLook struct{ samples, class int }

// claimed says from how many hits on something is claimed, and from how many on what is claimed is false.
type claimed struct{ something, wrong int }

func newDrawer(plan *stopping.Plan, t truth, n int) *drawer {
	return &drawer{plan: plan, truth: t, n: n, laws: map[binomialOf]binomial{}, roots: map[drawnLook]*drawnTrial{}, ends: map[drawnLook]claimed{}}
}

// chunk makes so many trials.
func (d *drawer) chunk(random *rand.Rand, trials int) (counts, error) {
	sum := counts{Trials: trials}
	for range trials {
		claims, wrong, err := d.trial(random)
		if err != nil {
			return sum, err
		}
		sum.Claims += index(claims)
		sum.False += index(wrong)
	}
	return sum, nil
}

func (d *drawer) trial(random *rand.Rand) (claims, wrong bool, err error) {
	t := d.plan.Trial(0, -1)
	if err := t.Add(d.selection(random)); err != nil {
		return false, false, err
	}
	if t.Done() {
		return false, false, nil
	}
	if d.plan.MaxSamples() > d.n { // no plan of looks
		claims, wrong = d.anytime(random, t.Class)
		return claims, wrong, nil
	}
	// What follows from here depends on the class and the looks.
	at := drawnLook{d.samples(t), t.Class}
	now, ok := d.roots[at]
	if !ok {
		now = d.newTrial(*t)
		d.roots[at] = now
	}
	for depth := 0; !now.trial.Done(); depth++ {
		hits := now.law.draw(random)
		next, ok := now.next[hits]
		if !ok {
			trial := now.trial
			if err := d.take(&trial, hits); err != nil {
				return false, false, err
			}
			if depth == 2 { // hardly any two trials go the same way so far
				return d.end(random, &trial)
			}
			next = d.newTrial(trial)
			now.next[hits] = next
		}
		now = next
	}
	return now.claims, now.wrong, nil
}

// take adds the look that comes next.
func (d *drawer) take(t *stopping.Trial, hits int) error {
	from, to := t.Blocks()
	return t.Add(look(from, to, t.Class, hits))
}

// end draws what is left of a trial.
func (d *drawer) end(random *rand.Rand, t *stopping.Trial) (claims, wrong bool, err error) {
	for !t.Done() {
		if err := d.take(t, d.law(d.samples(t), d.truth.P[t.Class]).draw(random)); err != nil {
			return false, false, err
		}
	}
	claims, wrong = d.judge(t)
	return claims, wrong, nil
}

func (d *drawer) judge(t *stopping.Trial) (claims, wrong bool) {
	claims = t.Class != stopping.Abstain
	return claims, claims && d.truth.refutes(t.Class, t.Radius)
}

func (d *drawer) newTrial(t stopping.Trial) *drawnTrial {
	if t.Done() {
		claims, wrong := d.judge(&t)
		return &drawnTrial{trial: t, claims: claims, wrong: wrong}
	}
	return &drawnTrial{trial: t, law: d.law(d.samples(&t), d.truth.P[t.Class]), next: map[int]*drawnTrial{}}
}

// samples is the length of the look that comes next.
func (d *drawer) samples(t *stopping.Trial) int {
	from, to := t.Blocks()
	return (to - from) * d.plan.Block()
}

// selection draws the votes of class after class.
func (d *drawer) selection(random *rand.Rand) ledger.Look {
	left, rest := d.plan.Selection(), 1.0
	l := ledger.Look{To: left / d.plan.Block()}
	for class, p := range d.truth.P {
		n := d.law(left, p/max(p, rest)).draw(random)
		if n > 0 {
			l.Counts = append(l.Counts, ledger.Count{Class: int32(class), N: n})
		}
		if left, rest = left-n, rest-p; left == 0 {
			break
		}
	}
	l.Misses = left
	return l
}

func (d *drawer) law(n int, p float64) binomial {
	law, ok := d.laws[binomialOf{n, p}]
	if !ok {
		law = newBinomial(n, p)
		d.laws[binomialOf{n, p}] = law
	}
	return law
}

// look has the hits of a class alone, which are all that a rule asks for.
func look(from, to, class, hits int) ledger.Look {
	l := ledger.Look{From: from, To: to}
	if hits > 0 {
		l.Counts = []ledger.Count{{Class: int32(class), N: hits}}
	}
	return l
}

// anytime draws block by block, and asks after each.
func (d *drawer) anytime(random *rand.Rand, class int) (claims, wrong bool) {
	hits, block := 0, d.plan.Block()
	law := d.law(block, d.truth.P[class])
	for n := block; n <= d.n; n += block {
		hits += law.draw(random)
		ends := d.claimed(drawnLook{n, class})
		claims = claims || hits >= ends.something
		wrong = wrong || hits >= ends.wrong
	}
	return claims, wrong
}

// claimed searches the hits with which claims begin, which are more at all larger numbers too.
func (d *drawer) claimed(l drawnLook) claimed {
	c, ok := d.ends[l]
	if ok {
		return c
	}
	selected := d.plan.Selection() / d.plan.Block()
	claim := func(hits int) rule.Outcome {
		o, err := d.plan.Judge([]ledger.Look{look(0, selected, l.class, d.plan.Selection()), look(selected, selected+l.samples/d.plan.Block(), l.class, hits)})
		if err != nil {
			panic(fmt.Sprintf("bench: %v", err))
		}
		return o
	}
	c.something = sort.Search(l.samples+1, func(hits int) bool { return claim(hits).Class != stopping.Abstain })
	c.wrong = sort.Search(l.samples+1, func(hits int) bool {
		o := claim(hits)
		return o.Class != stopping.Abstain && d.truth.refutes(o.Class, o.Radius)
	})
	d.ends[l] = c
	return c
}
