package train

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
)

// network is what a step trains; a nets.Architecture is one.
type network interface {
	Tensors() []nets.Tensor
	Forward(images *Node, lookup nets.Lookup) *Node
	ForwardTraining(images *Node, lookup nets.Lookup) (*Node, nets.Averages)
}

// trainer holds the weights and the optimizer's velocities on the device, and the compiled step.
type trainer struct {
	plan     *plan
	exec     *Exec
	viewer   *Exec             // makes the views that the graph makes; else nil
	attack   *attack.Smoothed  // nil without an adversary
	terms    []string          // names of the loss's terms, from the graph
	weights  []*tensors.Tensor // of plan.tensors
	momentum []*tensors.Tensor // of the trained ones of plan.tensors
}

func newTrainer(b *backend.Backend, p *plan, s *state) (*trainer, error) {
	t := &trainer{plan: p}
	for i, info := range p.tensors {
		t.weights = append(t.weights, tensors.FromFlatDataAndDimensions(s.weights[i], info.Shape...))
		if !info.Running {
			t.momentum = append(t.momentum, tensors.FromFlatDataAndDimensions(s.momentum[i], info.Shape...))
		}
	}
	exec, err := NewExec(b.Backend, t.update)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	t.exec = exec
	if p.viewsByGraph() {
		if t.viewer, err = newViewer(b, p); err != nil {
			return nil, err
		}
	}
	if p.needs.Adversary != nil {
		t.attack, err = attack.NewSmoothed(&attack.Network{Backend: b, Forward: p.net.Forward, Tensors: p.tensors})
		if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	return t, nil
}

// update builds a step. Inputs are what inputs gives, tensors and velocities; outputs are loss, number of right
// answers, the loss's terms where there are several, new tensors and new velocities.
func (t *trainer) update(inputs []*Node) []*Node {
	p, recipe, list := t.plan, t.plan.run.Recipe, t.plan.tensors
	images, labels, rate := inputs[0], inputs[1], inputs[2]
	b := &method.Batch{
		Labels: labels, Sigma: recipe.Sigma,
		Images: labels.Shape().Dimensions[0], Views: p.needs.Views, Noises: p.needs.Noises,
	}
	inputs = inputs[3:]
	if p.needs.Adversary != nil {
		images = attack.Copies(Add(images, inputs[0]), inputs[1])
		b.Class, b.Assignment = inputs[2], inputs[3]
		inputs = inputs[4:]
	}
	old, velocities := inputs[:len(list)], inputs[len(list):]
	lookup := func(name string) *Node { return old[indexOf(list, name)] }
	var averages nets.Averages
	b.Logits, averages = p.net.ForwardTraining(images, lookup)
	first := b.Logits
	if b.Views*b.Noises > 1 {
		first = Slice(first, AxisRange(0, b.Images))
	}
	correct := func() *Node {
		return ReduceAllSum(ConvertDType(Equal(ArgMax(first, -1, dtypes.Int32), labels), dtypes.Int32))
	}
	terms := p.method.Loss(b)
	if len(terms) == 0 {
		panic(fmt.Errorf("method %s: its loss has no terms", p.method.Name()))
	}
	loss := terms[0].Value
	t.terms = nil
	for i, term := range terms {
		if term.Value == nil || !term.Value.IsScalar() {
			panic(fmt.Errorf("method %s: the term %q of its loss is no scalar", p.method.Name(), term.Name))
		}
		t.terms = append(t.terms, term.Name)
		if i > 0 {
			loss = Add(loss, term.Value)
		}
	}
	updated := []*Node{loss, correct()}
	if len(terms) > 1 {
		for _, term := range terms {
			updated = append(updated, term.Value)
		}
	}

	var trained []*Node
	for i, t := range list {
		if !t.Running {
			trained = append(trained, old[i])
		}
	}
	gradients := Gradient(loss, trained...)
	return append(updated, descend(recipe, list, old, velocities, gradients, averages, rate)...)
}

// descend is the optimizer's step: new tensors and new velocities.
func descend(recipe modelfile.Recipe, list []nets.Tensor, old, velocities, gradients []*Node, averages nets.Averages, rate *Node) []*Node {
	var updated, newVelocities []*Node
	for i, t := range list {
		if t.Running {
			updated = append(updated, averages[t.Name])
			continue
		}
		k := len(newVelocities)
		d := Add(gradients[k], MulScalar(old[i], recipe.WeightDecay))
		v := Add(MulScalar(velocities[k], recipe.Momentum), d)
		newVelocities = append(newVelocities, v)
		if recipe.Nesterov {
			v = Add(d, MulScalar(v, recipe.Momentum))
		}
		updated = append(updated, Sub(old[i], Mul(rate, v)))
	}
	return append(updated, newVelocities...)
}

func indexOf(list []nets.Tensor, name string) int {
	for i, t := range list {
		if t.Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("train: no tensor %q", name))
}

// outcome is what a step tells of its batch.
type outcome struct {
	loss    float64
	correct int       // images right in their first view under its first noise
	terms   []float64 // of trainer.terms; nil where there is one
}

// step takes one step, of an epoch counted from 0.
func (t *trainer) step(b batch, rate float64, epoch int) (outcome, error) {
	if b.err != nil {
		return outcome{}, b.err
	}
	inputs, err := t.inputs(b, rate, epoch)
	defer func() { free(inputs) }()
	if err != nil {
		return outcome{}, err
	}
	inputs = append(append(inputs, t.weights...), t.momentum...)
	args := make([]any, len(inputs))
	for i, input := range inputs {
		args[i] = input
	}
	outputs, err := t.exec.Call(args...)
	if err != nil {
		// The weights are still needed, for a last checkpoint.
		inputs = inputs[:len(inputs)-len(t.weights)-len(t.momentum)]
		return outcome{}, err
	}
	o := outcome{loss: float64(tensors.ToScalar[float32](outputs[0])), correct: int(tensors.ToScalar[int32](outputs[1]))}
	n := 2
	if len(t.terms) > 1 {
		for _, term := range outputs[2 : 2+len(t.terms)] {
			o.terms = append(o.terms, float64(tensors.ToScalar[float32](term)))
		}
		n += len(t.terms)
	}
	if err := free(outputs[:n]); err != nil {
		return o, err
	}
	t.weights, t.momentum = outputs[n:n+len(t.weights):n+len(t.weights)], outputs[n+len(t.weights):]
	return o, nil
}

// inputs moves a batch to the device, and has it attacked where the method says so: images, labels and rate, and for an adversary
// the perturbations, the noise, the classes it drove and its assignment.
func (t *trainer) inputs(b batch, rate float64, epoch int) ([]*tensors.Tensor, error) {
	shape := t.plan.images.Shape
	move := func(values []float32) *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(values, len(values)/shape.Len(), shape.Height, shape.Width, shape.Channels)
	}
	images := move(b.images)
	var noise *tensors.Tensor
	if b.noise != nil {
		noise = move(b.noise)
	}
	a := t.plan.needs.Adversary
	if b.unmade != nil {
		var err error
		if images, err = t.makeViews(b.unmade, images, noise); err != nil {
			return []*tensors.Tensor{noise}, err
		}
	}
	list := []*tensors.Tensor{images, tensors.FromFlatDataAndDimensions(b.labels, len(b.labels)), tensors.FromScalar(float32(rate))}
	if a == nil {
		if noise == nil {
			return list, nil
		}
		return list, free([]*tensors.Tensor{noise})
	}
	found := &attack.Found{Class: b.labels}
	epsilon := a.Budget(epoch)
	if assigns := t.plan.assigns(); epsilon > 0 || assigns {
		var err error
		if found, err = t.attack.Run(a, epsilon, t.plan.sigma(epoch), images, noise, b.labels, t.weights); err != nil {
			return append(list, noise), err
		}
	} else {
		found.Gamma = tensors.FromShape(images.Shape())
	}
	assignment := found.Assignment
	if assignment == nil {
		assignment = make([]float32, len(b.labels))
	}
	n := len(b.labels)
	return append(list, found.Gamma, noise, tensors.FromFlatDataAndDimensions(found.Class, n),
		tensors.FromFlatDataAndDimensions(assignment, n, len(assignment)/n)), nil
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

// read brings weights and velocities back into the state.
func (t *trainer) read(s *state) (err error) {
	k := 0
	for i, info := range t.plan.tensors {
		if s.weights[i], err = tensors.CopyFlatData[float32](t.weights[i]); err != nil {
			return fmt.Errorf("train: %w", err)
		}
		if info.Running {
			continue
		}
		if s.momentum[i], err = tensors.CopyFlatData[float32](t.momentum[k]); err != nil {
			return fmt.Errorf("train: %w", err)
		}
		k++
	}
	return nil
}

func (t *trainer) close() {
	free(t.weights)
	free(t.momentum)
	t.exec.Finalize()
	if t.viewer != nil {
		t.viewer.Finalize()
	}
	if t.attack != nil {
		t.attack.Close()
	}
}

// free gives device memory back: the garbage collector does not see it.
func free(list []*tensors.Tensor) error {
	for _, t := range list {
		if err := t.FinalizeAll(); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}
