// Package purity tests what every certificate assumes of a model: that its answer is a
// deterministic function of one image. An answer that depends on the other images of its batch, on
// what was asked before, or on chance, is of no such function, and counts of noise samples prove
// nothing about it.
//
// Answers to the same image in different arrangements are compared: alone, in a block again, in
// another order, and beside other images. Rounding may vary with the arrangement, so two answers
// differ only where a logit moves by more than tolerance·max(1, s), with s the largest less the
// smallest logit of the row, or a probability by more than tolerance. A class that changes within
// that counts as a near tie; so does every change of a class where a model gives classes alone.
// More than nearTies of them, and more than nearTieShare of the comparisons, are a contradiction,
// too: else a program could hide behind logits that are all but equal.
package purity

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/classifier"
)

const (
	tolerance    = 0.01 // of the difference between two answers; see above
	nearTies     = 2    // changes of a class within the tolerance that rounding may explain
	nearTieShare = 0.01 // of the comparisons, that rounding may explain
)

// Found is the result of comparing answers.
type Found struct {
	Answers     int     `json:"answers"`     // asked of the model
	Invalid     int     `json:"invalid"`     // of these, without a finite output
	Comparisons int     `json:"comparisons"` // of two answers to the same image
	Beyond      int     `json:"beyond"`      // that differ by more than the tolerance
	Changed     int     `json:"changed"`     // that have another class, but differ by no more
	Largest     float64 `json:"largest"`     // difference of a logit or probability, in units of its tolerance
	Again       float64 `json:"again"`       // the same, of the very same block asked twice
	First       string  `json:"first,omitempty"`

	// logits that are non-negative and sum to 1: those with several positive values, and with one
	distributions, oneHot int
}

// Contradicted reports whether the comparisons say that the model is no deterministic function of one image.
func (f *Found) Contradicted() bool {
	return f.Beyond > 0 || f.Changed > nearTies && float64(f.Changed) > nearTieShare*float64(f.Comparisons)
}

// Probabilities reports whether all that the model called logits were probabilities. Rows of a
// single one say nothing, as toy models answer so.
func (f *Found) Probabilities() bool {
	return f.distributions > 0 && f.distributions+f.oneHot == f.Answers-f.Invalid
}

// Error says that a model is no deterministic function of one image.
type Error struct {
	Model string
	Found Found
}

func (e *Error) Error() string {
	return fmt.Sprintf("model %s is no deterministic function of one image: %s; switch it to evaluation, without "+
		"dropout or other randomness and with stored averages in its batch normalisation, and do not change it "+
		"during a run",
		e.Model, e.Found.String())
}

// Unwrap lets callers outside find the error by its kind.
func (e *Error) Unwrap() error { return classifier.ErrImpure }

func (f *Found) String() string {
	if f.Beyond+f.Changed == 0 {
		return fmt.Sprintf("%d comparisons of two answers to one image agree", f.Comparisons)
	}
	first := ""
	if f.First != "" {
		first = " (first: " + f.First + ")"
	}
	return fmt.Sprintf("of %d comparisons of two answers to one image, %d differ by more than rounding and %d in "+
		"the class alone%s", f.Comparisons, f.Beyond, f.Changed, first)
}

// Err is an *Error where the comparisons contradict the assumption.
func (f *Found) Err(model string) error {
	if !f.Contradicted() {
		return nil
	}
	return &Error{model, *f}
}

// Model asks a classifier for all that it says of an image: logits, or else probabilities, or else classes.
type Model struct {
	classifier.Classifier
	Info   classifier.Info
	values values
}

type values int

const (
	unknown values = iota
	logits
	probabilities
	none
)

// New wraps a model.
func New(m classifier.Classifier) (*Model, error) {
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	w := &Model{Classifier: m, Info: info}
	if info.Logits {
		w.values = logits
	}
	return w, nil
}

// Answers are those to a batch.
type Answers struct {
	Classes []int32
	rows    []float32 // one per image; nil: classes alone
	values  values
}

// Ask gives the answers to a batch. It is not safe for concurrent use before its first answer.
func (m *Model) Ask(ctx context.Context, batch classifier.Batch) (Answers, error) {
	try := func(v values) (Answers, error) {
		a := Answers{Classes: make([]int32, batch.N), values: v}
		for i := range a.Classes {
			a.Classes[i] = classifier.Miss // what the model leaves out
		}
		result := classifier.Result{Classes: a.Classes}
		if v != none {
			a.rows = make([]float32, batch.N*m.Info.Classes)
		}
		switch v {
		case logits:
			result.Logits = a.rows
		case probabilities:
			result.Scores = a.rows
		}
		err := m.Classify(ctx, batch, &result)
		for i, class := range a.Classes {
			if err == nil && (class < classifier.Miss || int(class) >= m.Info.Classes) {
				err = fmt.Errorf("image %d of a batch gets the class %d; expected 0 to %d", i, class, m.Info.Classes-1)
			}
		}
		return a, err
	}
	if m.values != unknown {
		return try(m.values)
	}
	a, err := try(probabilities)
	if err == nil {
		m.values = probabilities
		return a, nil
	}
	if ctx.Err() != nil {
		return a, err
	}
	if a, err = try(none); err == nil {
		m.values = none
	}
	return a, err
}

// Count takes answers into account that are compared, or that others are compared with.
func (f *Found) Count(a Answers) {
	f.Answers += len(a.Classes)
	for i, class := range a.Classes {
		if class == classifier.Miss {
			f.Invalid++
			continue
		}
		if a.values != logits {
			continue
		}
		switch positive := a.support(i); {
		case positive == 1:
			f.oneHot++
		case positive > 1:
			f.distributions++
		}
	}
}

// support is the number of positive values in a row that is a distribution, else 0.
func (a Answers) support(i int) (positive int) {
	const within = 0.01 // half precision
	row, _ := a.row(i)
	sum := 0.
	for _, v := range row {
		if v < 0 {
			return 0
		}
		if v > 0 {
			positive++
		}
		sum += float64(v)
	}
	if math.Abs(sum-1) > within {
		return 0
	}
	return positive
}

// Compare takes the answer to image i of a and to image j of b, which is the same image; how says
// how b was arranged. Where one of the two has classes alone, a changed class is beyond the
// tolerance where the other holds the two classes further apart than that.
func (f *Found) Compare(a Answers, i int, b Answers, j int, how string) {
	rowA, withinA := a.row(i)
	rowB, withinB := b.row(j)
	f.compare(answer{a.Classes[i], rowA, withinA}, answer{b.Classes[j], rowB, withinB}, how)
}

// answer is that to one image: a class, and what the model says besides, or nil, with its tolerance.
type answer struct {
	class  int32
	row    []float32
	within float64
}

func (f *Found) compare(a, b answer, how string) {
	f.Comparisons++
	was, is := a.class, b.class
	beyond := (was == classifier.Miss) != (is == classifier.Miss)
	if was != classifier.Miss && is != classifier.Miss {
		switch {
		case a.row != nil && b.row != nil:
			largest := 0.
			for c, v := range a.row {
				largest = max(largest, math.Abs(float64(v)-float64(b.row[c]))/max(a.within, b.within))
			}
			f.Largest = max(f.Largest, largest)
			beyond = largest > 1
		case a.row != nil:
			beyond = float64(a.row[was]-a.row[is]) > a.within
		case b.row != nil:
			beyond = float64(b.row[is]-b.row[was]) > b.within
		}
	}
	switch {
	case beyond:
		f.Beyond++
	case was != is:
		f.Changed++
	default:
		return
	}
	if f.First == "" {
		f.First = fmt.Sprintf("%s, then %s %s", className(was), className(is), how)
		if was == is {
			f.First = fmt.Sprintf("%s with other values %s", className(is), how)
		}
	}
}

func className(class int32) string {
	if class == classifier.Miss {
		return "no finite output"
	}
	return fmt.Sprintf("class %d", class)
}

// row is the answer to image i besides the class, and its tolerance.
func (a Answers) row(i int) (row []float32, within float64) {
	if a.rows == nil {
		return nil, 0
	}
	k := len(a.rows) / len(a.Classes)
	row = a.rows[i*k : (i+1)*k]
	if a.values == probabilities {
		return row, tolerance
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range row {
		low, high = min(low, float64(v)), max(high, float64(v))
	}
	return row, tolerance * max(1, high-low)
}

// Add sums comparisons.
func (f *Found) Add(other Found) {
	f.Answers += other.Answers
	f.Invalid += other.Invalid
	f.Comparisons += other.Comparisons
	f.Beyond += other.Beyond
	f.Changed += other.Changed
	f.Largest = max(f.Largest, other.Largest)
	f.Again = max(f.Again, other.Again)
	f.distributions += other.distributions
	f.oneHot += other.oneHot
	if f.First == "" {
		f.First = other.First
	}
}
