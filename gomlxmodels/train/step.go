package train

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
)

// trainer holds the weights and the optimizer's velocities on the device, and the compiled step.
type trainer struct {
	plan     *plan
	exec     *Exec
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
	exec, err := NewExec(b.Backend, func(inputs []*Node) []*Node {
		return update(p.run.Architecture, p.run.Recipe, p.tensors, inputs)
	})
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	t.exec = exec
	return t, nil
}

// update builds a step. Inputs are images, labels, learning rate, tensors and velocities;
// outputs are mean loss, number of right answers, new tensors and new velocities.
func update(a nets.Architecture, recipe modelfile.Recipe, list []nets.Tensor, inputs []*Node) []*Node {
	images, labels, rate := inputs[0], inputs[1], inputs[2]
	old, velocities := inputs[3:3+len(list)], inputs[3+len(list):]
	lookup := func(name string) *Node { return old[indexOf(list, name)] }
	logits, averages := a.ForwardTraining(images, lookup)
	loss := crossEntropy(logits, labels)
	correct := ReduceAllSum(ConvertDType(Equal(ArgMax(logits, -1, dtypes.Int32), labels), dtypes.Int32))

	var trained []*Node
	for i, t := range list {
		if !t.Running {
			trained = append(trained, old[i])
		}
	}
	gradients := Gradient(loss, trained...)
	updated := []*Node{loss, correct}
	var newVelocities []*Node
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

// crossEntropy is the mean over the batch of log Σ_j exp(z_j) − z_label.
func crossEntropy(logits, labels *Node) *Node {
	z := Sub(logits, StopGradient(ReduceAndKeep(logits, ReduceMax, -1)))
	right := OneHot(labels, z.Shape().Dimensions[1], z.DType())
	return ReduceAllMean(Sub(Log(ReduceSum(Exp(z), -1)), ReduceSum(Mul(right, z), -1)))
}

// step takes one step and returns the batch's mean loss and number of right answers.
func (t *trainer) step(b batch, rate float64) (loss float64, correct int, err error) {
	shape := t.plan.images.Shape
	inputs := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(b.images, len(b.labels), shape.Height, shape.Width, shape.Channels),
		tensors.FromFlatDataAndDimensions(b.labels, len(b.labels)),
		tensors.FromScalar(float32(rate)),
	}
	inputs = append(append(inputs, t.weights...), t.momentum...)
	args := make([]any, len(inputs))
	for i, input := range inputs {
		args[i] = input
	}
	outputs, err := t.exec.Call(args...)
	if err != nil {
		return 0, 0, err
	}
	loss = float64(tensors.ToScalar[float32](outputs[0]))
	correct = int(tensors.ToScalar[int32](outputs[1]))
	n := 2 + len(t.weights)
	t.weights, t.momentum = outputs[2:n:n], outputs[n:]
	return loss, correct, free(append(inputs, outputs[:2]...))
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
