package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/resample"
)

// Claim says that a quantity of a row lies above that of another row, of another set, or above a number. It belongs to
// one family of one table: the claims of a family are judged together, wherever they are shown.
type Claim struct {
	Row      string   `yaml:"row" json:"row"`   // its title, or its recipe where titles repeat
	What     string   `yaml:"what" json:"what"` // a quantity
	On       []string `yaml:"on" json:"on"`     // sets: a claim for each
	Than     string   `yaml:"than,omitempty" json:"than,omitempty"`
	ThanOn   string   `yaml:"than_on,omitempty" json:"than_on,omitempty"`
	ThanWhat string   `yaml:"than_what,omitempty" json:"than_what,omitempty"` // of the same unit
	// By is how much it lies above the other cell, or the number that it lies above where there is none.
	By   float64 `yaml:"by,omitempty" json:"by,omitempty"`
	Sign int     `yaml:"sign,omitempty" json:"sign,omitempty"` // −1: below
}

// cells are the two that a claim compares on a set; the second is nil where it is compared with a number.
func (c Claim) cells(set string) (a Cell, b *Cell) {
	a = Cell{c.Row, set, c.What}
	if c.Than == "" && c.ThanOn == "" && c.ThanWhat == "" {
		return a, nil
	}
	return a, &Cell{cmp.Or(c.Than, c.Row), cmp.Or(c.ThanOn, set), cmp.Or(c.ThanWhat, c.What)}
}

// Family are claims that are judged together.
type Family []Claim

// UnmarshalYAML takes lists of rows, of quantities and of what they are compared with, too: a claim for each.
func (f *Family) UnmarshalYAML(n *yaml.Node) error {
	var lists []struct {
		Row      Words   `yaml:"row"`
		What     Words   `yaml:"what"`
		On       Words   `yaml:"on"`
		Than     Words   `yaml:"than"`
		ThanOn   string  `yaml:"than_on"`
		ThanWhat string  `yaml:"than_what"`
		By       float64 `yaml:"by"`
		Sign     int     `yaml:"sign"`
	}
	if err := n.Decode(&lists); err != nil {
		return err
	}
	for _, l := range lists {
		if len(l.Row) == 0 || len(l.What) == 0 || len(l.On) == 0 || l.Sign < -1 || l.Sign > 0 {
			return fmt.Errorf("line %d: a claim has a row, a quantity (what) and sets (on), and sign: -1 where it is below",
				n.Line)
		}
		if len(l.Than) == 0 {
			l.Than = Words{""}
		}
		for _, row := range l.Row {
			for _, what := range l.What {
				for _, than := range l.Than {
					*f = append(*f, Claim{row, what, l.On, than, l.ThanOn, l.ThanWhat, l.By, l.Sign})
				}
			}
		}
	}
	return nil
}

// Digest names what a family claims: equal digests, equal claims.
func (f Family) Digest() string {
	text, err := json.Marshal(f)
	if err != nil { // a number that JSON does not have
		panic("study: " + err.Error())
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// Results are a source that knows how far its differences may be off.
type Results interface {
	Source
	// Compare is cell a less cell b, or cell a alone where b is nil, with intervals of the confidence of
	// the options for the difference less by. It is nil where a cell is not there.
	Compare(ctx context.Context, a Cell, b *Cell, by float64, o resample.Options) (*Comparison, error)
}

// Comparison is a difference with its uncertainty.
type Comparison struct {
	A, B     float64   // of the two cells
	Networks *Estimate // over images: for these networks; nil: not judged
	Starts   *Estimate // over images and starts; nil: of one start
	// Of is how many starts there are. Networks that go back to one are Orders of it, and not starts.
	Of, Orders int
	Note       string // on effort or intervals
}

// Estimate is an interval for a difference, and the p-value that the difference is as large as the claim's bound.
type Estimate struct {
	Interval resample.Interval
	P        float64
}

// Verdict of an interval on a claim.
type Verdict string

// The verdicts.
const (
	VerdictShows    Verdict = "shows"
	VerdictOpposite Verdict = "opposite"
	VerdictOpen     Verdict = "open"
)

// Ruling is a verdict with the interval that it follows from.
type Ruling struct {
	Verdict    Verdict           `json:"verdict"`
	Interval   resample.Interval `json:"interval"`
	Confidence float64           `json:"confidence"` // of this interval, by Holm's method
}

// Judged is a claim on one set with all that is shown of it. Ours and theirs are one expression, of two sources.
type Judged struct {
	Claim  Claim  `json:"claim"`
	Set    string `json:"set"`
	Family int    `json:"family"` // claims that are judged together

	A        float64 `json:"a"`
	B        float64 `json:"b"`
	Networks *Ruling `json:"networks,omitempty"`
	Starts   *Ruling `json:"starts,omitempty"`
	Of       int     `json:"of,omitempty"`
	Orders   int     `json:"orders,omitempty"`
	Note     string  `json:"note,omitempty"`

	Theirs  *[2]float64 `json:"theirs,omitempty"` // of the two cells; nil: not printed, or apart
	Kinship Kinship     `json:"kinship,omitempty"`
	Why     string      `json:"why,omitempty"` // what differs between ours and theirs

	Confidence float64 `json:"-"` // of the intervals of the family together; 0: 0.95
}

// Judge judges a family: each claim by the interval of the confidence at which Holm's method comes to it. Claims whose
// cells are not there are left out. Without a source of printed numbers theirs is nil.
//
// Errors: those of the two sources and of resample.
func Judge(ctx context.Context, family Family, ours Results, theirs Source, o resample.Options) ([]Judged, error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	var all []Judged
	var found []*Comparison
	for _, c := range family {
		for _, set := range c.On {
			a, b := c.cells(set)
			d, err := ours.Compare(ctx, a, b, c.By, o)
			if err != nil {
				return nil, err
			}
			if d == nil {
				continue
			}
			j := Judged{Claim: c, Set: set, A: d.A, B: d.B, Of: d.Of, Orders: d.Orders, Note: d.Note,
				Confidence: o.Confidence}
			j.Claim.On = []string{set}
			if theirs != nil {
				if err := j.beside(a, b, ours, theirs); err != nil {
					return nil, err
				}
			}
			all, found = append(all, j), append(found, d)
		}
	}
	networks := levels(found, func(d *Comparison) *Estimate { return d.Networks }, o.Confidence)
	starts := levels(found, func(d *Comparison) *Estimate { return d.Starts }, o.Confidence)
	for i := range all {
		j := &all[i]
		j.Family = len(all)
		for _, kind := range []struct {
			confidence float64
			to         **Ruling
			of         func(*Comparison) *Estimate
		}{{networks[i], &j.Networks, func(d *Comparison) *Estimate { return d.Networks }},
			{starts[i], &j.Starts, func(d *Comparison) *Estimate { return d.Starts }}} {
			if kind.confidence == 0 {
				continue
			}
			d := found[i]
			if at := o; kind.confidence != o.Confidence {
				at.Confidence = kind.confidence
				a, b := j.Claim.cells(j.Set)
				if d, err = ours.Compare(ctx, a, b, j.Claim.By, at); err != nil {
					return nil, err
				}
			}
			in := kind.of(d).Interval
			*kind.to = &Ruling{verdict(in, j.Claim), in, kind.confidence}
		}
	}
	return all, nil
}

// beside takes what is printed, where it may stand beside ours.
func (j *Judged) beside(a Cell, b *Cell, ours, theirs Source) error {
	var pair [2]float64
	for i, c := range []*Cell{&a, b} {
		if c == nil {
			continue
		}
		v, there, err := theirs.Mean(*c)
		if err != nil || !there {
			return err
		}
		k, why := ours.Context(*c).Beside(theirs.Context(*c))
		if k == Apart {
			j.Kinship, j.Why = k, why
			return nil
		}
		if pair[i] = v; k > j.Kinship {
			j.Kinship = k
		}
		if j.Why == "" {
			j.Why = why
		}
	}
	j.Theirs = &pair
	return nil
}

// levels are the confidences at which Holm's method judges: with m claims by p-value, the first at
// 1 − α/m, the next at 1 − α/(m−1), up to the first that is open; those behind it are judged as it
// is. 0: no estimate.
func levels(of []*Comparison, estimate func(*Comparison) *Estimate, confidence float64) []float64 {
	out := make([]float64, len(of))
	var order []int
	for i, d := range of {
		if estimate(d) != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(estimate(of[a]).P, estimate(of[b]).P) })
	alpha, stopped := 1-confidence, 0.
	for k, i := range order {
		level := alpha / float64(len(order)-k)
		if stopped > 0 {
			level = stopped
		} else if estimate(of[i]).P > level {
			stopped = level
		}
		if out[i] = 1 - level; level == alpha {
			out[i] = confidence
		}
	}
	return out
}

// verdict follows from where the interval lies, which is of the difference.
func verdict(in resample.Interval, c Claim) Verdict {
	low, high := in.Low-c.By, in.High-c.By
	if c.Sign < 0 {
		low, high = -high, -low
	}
	switch {
	case low > 0:
		return VerdictShows
	case high < 0:
		return VerdictOpposite
	}
	return VerdictOpen
}

// Difference of the two cells of ours.
func (j Judged) Difference() float64 { return j.A - j.B }
