package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Diagnosis holds the terms of the loss on a batch, before its step.
type Diagnosis struct {
	Step  int         `json:"step"` // of the run, from 1
	Epoch int         `json:"epoch"`
	Terms []TermSizes `json:"terms"` // in the order of the method
}

// TermSizes are the sizes of one term of the loss, with its weight and its ramp.
type TermSizes struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Gradient float64 `json:"gradient"` // Euclidean norm of the gradient by all trained tensors, without weight decay
}

// outweighs is the share of the first term's gradient above which another term is worth a warning.
const outweighs = 2

// Share returns the gradient of a term over the gradient of the first one, the cross-entropy in all methods of
// package method. It is 0 without a gradient.
func (d Diagnosis) Share(term int) float64 {
	if d.Terms[term].Gradient == 0 {
		return 0
	}
	return d.Terms[term].Gradient / d.Terms[0].Gradient
}

// String is a line with the terms one after the other.
func (d Diagnosis) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d:", d.Step)
	for i, term := range d.Terms {
		if i > 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " %s %.4g, gradient %.3g", term.Name, term.Value, term.Gradient)
		if i > 0 {
			fmt.Fprintf(&b, " (%.2g times %s's)", d.Share(i), d.Terms[0].Name)
		}
	}
	return b.String()
}

// Warnings are the terms whose gradient is above outweighs times the first one's, at the largest of some diagnoses.
func Warnings(list []Diagnosis) (warnings []string) {
	if len(list) == 0 {
		return nil
	}
	for i, term := range list[0].Terms {
		largest := slices.MaxFunc(list, func(a, b Diagnosis) int { return cmp.Compare(a.Share(i), b.Share(i)) })
		if share := largest.Share(i); share > outweighs {
			warnings = append(warnings, fmt.Sprintf("the gradient of %s is %.2g times that of %s at step %d: above "+
				"%d times, it is the term that is learned, and not the classes; a smaller weight, or views that "+
				"differ less, helps",
				term.Name, share, largest.Terms[0].Name, largest.Step, outweighs))
		}
	}
	return warnings
}

// gradients builds the terms of the loss and the squares of their gradients' norms.
func (t *trainer) gradients(inputs []*Node) []*Node {
	l := t.losses(inputs)
	var out []*Node
	for _, term := range l.terms {
		square := ScalarZero(term.Value.Graph(), term.Value.DType())
		for _, g := range Gradient(term.Value, l.trained...) {
			square = Add(square, ReduceAllSum(Square(g)))
		}
		out = append(out, term.Value, square)
	}
	return out
}

// diagnose measures a batch that is still to be stepped on.
func (t *trainer) diagnose(b batch, step int) (Diagnosis, error) {
	d := Diagnosis{Step: step + 1, Epoch: step/t.plan.stepsPerEpoch + 1}
	if b.err != nil {
		return d, b.err
	}
	args, inputs, err := t.arguments(b, step)
	defer func() { free(inputs) }()
	if err != nil {
		return d, err
	}
	outputs, err := t.measure.Call(args...)
	if err != nil {
		return d, fmt.Errorf("the sizes of the loss's terms: %w", err)
	}
	for i, name := range t.terms {
		value, square := tensors.ToScalar[float32](outputs[2*i]), tensors.ToScalar[float32](outputs[2*i+1])
		d.Terms = append(d.Terms, TermSizes{Name: name, Value: float64(value), Gradient: math.Sqrt(float64(square))})
	}
	return d, free(outputs)
}
