package train

import (
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
)

type outcome struct {
	loss    float64
	correct int       // images right in their first view under its first noise
	terms   []float64 // of trainer.terms; nil where there is one
}

// step takes one step, counted from 0.
func (t *trainer) step(b batch, step int) (outcome, error) {
	if b.err != nil {
		return outcome{}, b.err
	}
	args, inputs, err := t.arguments(b, step)
	defer func() { free(inputs) }()
	if err != nil {
		return outcome{}, err
	}
	outputs, err := t.exec.Call(args...)
	if err != nil {
		return outcome{}, err // the weights are still needed, for a last checkpoint
	}
	o := outcome{loss: float64(tensors.ToScalar[float32](outputs[0])),
		correct: int(tensors.ToScalar[int32](outputs[1]))}
	n := 2
	if len(t.terms) > 1 {
		for _, term := range outputs[2 : 2+len(t.terms)] {
			o.terms = append(o.terms, float64(tensors.ToScalar[float32](term)))
		}
		n += len(t.terms)
	}
	var kept []int32
	if t.plan.scored() {
		if kept, err = tensors.CopyFlatData[int32](outputs[n]); err != nil {
			return o, fmt.Errorf("train: %w", err)
		}
		n++
	}
	old := append(outputs[:n:n], t.slots...)
	old = append(old, t.scores...)
	next := outputs[n:]
	for i := range t.weights {
		if t.plan.changes(i) {
			old, t.weights[i], next = append(old, t.weights[i]), next[0], next[1:]
		}
	}
	t.slots, t.scores = next[:len(t.slots):len(t.slots)], next[len(t.slots):]
	if err := free(old); err != nil {
		return o, err
	}
	return o, t.plan.empty(kept, step)
}

// notFinite says which terms of a loss are not finite.
func (t *trainer) notFinite(o outcome) string {
	var found []string
	for i, v := range o.terms {
		if v-v != 0 {
			found = append(found, fmt.Sprintf("%s %v", t.terms[i], v))
		}
	}
	if len(o.terms) == 0 {
		return t.terms[0]
	}
	if len(found) == 0 {
		return "the sum of finite terms"
	}
	return strings.Join(found, ", ")
}
