package study

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// Claim says that a quantity of a row lies above that of another row, or of another set, or above a
// number. A claim belongs to one family of one table, and is judged with it.
type Claim struct {
	Row    string   `yaml:"row"`
	On     []string `yaml:"on"`   // sets: a claim for each
	What   string   `yaml:"what"` // a quantity
	Than   string   `yaml:"than,omitempty"`
	ThanOn string   `yaml:"than_on,omitempty"`
	Number float64  `yaml:"number,omitempty"` // where it is compared with no row and no set
	Sign   int      `yaml:"sign,omitempty"`   // −1: below
}

// cells are the two that a claim compares on a set; no second one: with its number.
func (c Claim) cells(set string) (a, b Cell, second bool) {
	a, b = Cell{c.Row, set, c.What}, Cell{c.Row, set, c.What}
	if c.Than != "" {
		b.Row = c.Than
	}
	if c.ThanOn != "" {
		b.Set = c.ThanOn
	}
	return a, b, a != b
}

// Verdict is what the interval of a difference says of a claim.
type Verdict string

// The verdicts.
const (
	VerdictShows    Verdict = "shows"
	VerdictOpposite Verdict = "opposite"
	VerdictOpen     Verdict = "open"
)

// Judged is a claim on one set with all that is shown of it. Ours and Theirs are one expression, on
// two sources.
type Judged struct {
	Claim   Claim
	Set     string
	Ours    *compare.Difference // nil: not there yet
	Theirs  *float64            // nil: not printed, or apart
	Kinship Kinship
	Why     string // what differs
	Verdict Verdict
}

// Judge judges a family: all of its claims together, by Holm's method, wherever they are shown.
// Without a source of printed values theirs is nil.
//
// Errors: a cell that does not exist; those of Folder.Difference.
func Judge(ctx context.Context, family []Claim, ours *Folder, theirs Source, o resample.Options) (all []Judged,
	err error) {
	var p []float64
	var of []int
	for _, c := range family {
		for _, set := range c.On {
			j, err := judgeOne(ctx, c, set, ours, theirs, o)
			if err != nil {
				return nil, err
			}
			if all = append(all, j); j.Ours != nil {
				p, of = append(p, j.Ours.P), append(of, len(all)-1)
			}
		}
	}
	holm, err := resample.Holm(p)
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	o, err = o.Resolved()
	if err != nil {
		return nil, err
	}
	for i, k := range of {
		j := &all[k]
		if j.Ours.Holm = &holm[i]; holm[i] > 1-o.Confidence {
			continue
		}
		if j.Verdict = VerdictShows; (j.Ours.Difference < 0) != (j.Claim.Sign < 0) {
			j.Verdict = VerdictOpposite
		}
	}
	return all, nil
}

func judgeOne(ctx context.Context, c Claim, set string, ours *Folder, theirs Source,
	o resample.Options) (j Judged, err error) {
	a, b, second := c.cells(set)
	if !second {
		return j, fmt.Errorf("study: a claim on %s of %s names no other row or set; claims about a number are not judged yet",
			c.What, c.Row)
	}
	j = Judged{Claim: c, Set: set, Verdict: VerdictOpen}
	if j.Ours, err = ours.Difference(ctx, a, b, o); err != nil || theirs == nil {
		return j, err
	}
	x, there, err := theirs.Mean(a)
	if err != nil || !there {
		return j, err
	}
	y, there, err := theirs.Mean(b)
	if err != nil || !there {
		return j, err
	}
	if j.Kinship, j.Why = ours.Context(a).Beside(theirs.Context(a)); j.Kinship != Apart {
		difference := x - y
		j.Theirs = &difference
	}
	return j, nil
}
