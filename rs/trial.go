package rs

import (
	"fmt"
	"math"
	"strconv"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
)

// trial is the state of one image: a pure function of the looks it was given.
type trial struct {
	plan *plan
	row  Row
	look int // that comes next; -1: the selection
	hits int // in the looks so far
	done bool
}

func newTrial(p *plan, image, label int) *trial {
	return &trial{plan: p, look: -1, row: Row{Image: image, Label: label, Class: Abstain}}
}

// blocks is the range of the look that comes next.
func (t *trial) blocks() (from, to int) {
	if t.look >= 0 {
		from = t.plan.end(t.look - 1)
	}
	return from, t.plan.end(t.look)
}

// add takes the look that comes next. It refuses one of other blocks.
func (t *trial) add(l ledger.Look) error {
	if t.done {
		return fmt.Errorf("image %d has blocks %d to %d, but was decided before them", l.Image, l.From, l.To)
	}
	if from, to := t.blocks(); l.From != from || l.To != to {
		return fmt.Errorf("image %d has a look at blocks %d to %d, the rule looks at %d to %d", l.Image, l.From, l.To, from, to)
	}
	t.row.Passes += (l.To - l.From) * t.plan.block
	t.row.Misses += l.Misses
	if t.look < 0 {
		t.choose(l)
	} else {
		t.judge(l)
	}
	t.look++
	return nil
}

// choose takes the class with the most votes of the selection, the smallest of equals. Without any vote nothing can be certified.
func (t *trial) choose(l ledger.Look) {
	votes := 0
	for _, c := range l.Counts {
		if c.N > votes {
			t.row.Class, votes = int(c.Class), c.N
		}
	}
	t.done = votes == 0
}

// judge bounds the probability of the class after one more look, and decides whether that was the last.
func (t *trial) judge(l ledger.Look) {
	for _, c := range l.Counts {
		if int(c.Class) == t.row.Class {
			t.hits += c.N
		}
	}
	level := t.plan.looks[t.look]
	lower, radius := certificate(t.plan.sigma, must(bound.Lower(t.hits, level.Copies, level.Alpha)))
	if t.look == 0 || lower > t.row.Lower {
		t.row.K, t.row.N, t.row.Lower, t.row.Radius = t.hits, level.Copies, lower, radius
	}
	if !t.plan.stops(t.look, t.hits, t.row.Radius) {
		return
	}
	t.done = true
	if t.row.Lower < 0.5 {
		t.row.Class = Abstain
	}
}

// lowerDecimals is the number of decimals to which a lower bound is rounded down. A float64 holds any
// such number below 1 so that it prints as the same digits again.
const lowerDecimals = 15

// certificate rounds a lower bound down to its decimals, and the radius that follows from the
// rounded bound down to 9 significant digits: the numbers that a ledger claims.
func certificate(sigma float64, p bound.Probability) (lower, radius float64) {
	const one = 1e15 // 10^lowerDecimals
	miss := min(one, math.Ceil(p.Q*one*(1+0x1p-50)))
	lower = (one - miss) / one
	if lower < 0.5 {
		return lower, 0
	}
	exact := must(bound.Radius(sigma, bound.Probability{P: lower, Q: miss / one}))
	return lower, roundDown(exact)
}

// roundDown cuts a number that is not negative to 9 significant digits.
func roundDown(v float64) float64 {
	const digits = 9
	// The exact decimal value needs more digits than these 40 only far behind the cut.
	text := strconv.FormatFloat(v, 'e', 40, 64) // d.ddd…e±dd
	cut, err := strconv.ParseFloat(text[:digits+1]+text[len("0.")+40:], 64)
	if err != nil {
		panic("rs: " + err.Error())
	}
	return cut
}

func lowerText(lower float64) string   { return strconv.FormatFloat(lower, 'f', lowerDecimals, 64) }
func radiusText(radius float64) string { return strconv.FormatFloat(radius, 'f', -1, 64) }
