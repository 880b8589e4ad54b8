package train

import (
	"errors"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// arguments are what a step computes with: the inputs of the batch, which are to be freed, also on
// an error, and after them what stays on the device.
func (t *trainer) arguments(b batch, step int) (args []any, inputs []*tensors.Tensor, err error) {
	if inputs, err = t.inputs(b, step); err != nil {
		return nil, inputs, err
	}
	for k := range b.more {
		images, err := t.moreImages(k, b.more[k].images, step)
		inputs = append(inputs, images, tensors.FromFlatDataAndDimensions(b.more[k].labels, len(b.more[k].labels)))
		if err != nil {
			return nil, inputs, err
		}
	}
	for k, set := range t.plan.needs.Sets {
		if set.Clean {
			inputs = append(inputs, t.move(b.more[k].images))
		}
	}
	for _, v := range t.plan.optimizer.Scalars(step + 1) {
		inputs = append(inputs, tensors.FromScalar(float32(v)))
	}
	for _, name := range t.plan.numbers {
		inputs = append(inputs, tensors.FromScalar(float32(t.plan.ramps[name].At(t.plan.clock(step)))))
	}
	if t.plan.scored() {
		for _, n := range t.plan.keptScores(step + 1) {
			inputs = append(inputs, tensors.FromScalar(int32(n)))
		}
	}
	for _, list := range [][]*tensors.Tensor{inputs, t.weights, t.slots, t.fixed, t.scores} {
		for _, input := range list {
			args = append(args, input)
		}
	}
	return args, inputs, nil
}

// empty is an error where a layer has lost all its weights.
func (p *plan) empty(kept []int32, step int) error {
	if i := slices.Index(kept, 0); i >= 0 {
		epoch := min(step+1, p.steps-1) / p.stepsPerEpoch
		return &prune.EmptyLayer{Layer: p.pruning.tensors[i].Name, Weights: p.pruning.tensors[i].Size(),
			Sparsity: prune.Grown(p.pruner, p.pruning.sparsity, epoch)}
	}
	return nil
}

// inputs moves a batch to the device, and has it attacked where the method says so: images, labels
// and rate, and for an adversary the perturbations, the noise, the classes it drove and its
// assignment.
func (t *trainer) inputs(b batch, step int) ([]*tensors.Tensor, error) {
	images := t.move(b.images)
	var noise *tensors.Tensor
	if b.noise != nil {
		noise = t.move(b.noise)
	}
	if b.unmade != nil {
		var err error
		if images, err = t.makeViews(b.unmade, images, noise); err != nil {
			return []*tensors.Tensor{noise}, err
		}
	}
	list := []*tensors.Tensor{images, tensors.FromFlatDataAndDimensions(b.labels, len(b.labels)),
		tensors.FromScalar(float32(t.plan.rate(step)))}
	var err error
	if t.plan.needs.Attacks() {
		list, err = t.attacked(b, step, list, noise)
	} else if t.plan.needs.Denoiser > 0 {
		list = append(list, noise)
	} else if noise != nil {
		err = free([]*tensors.Tensor{noise})
	}
	if err != nil {
		return list, err
	}
	n := len(b.labels)
	if len(b.soft) > 0 {
		list = append(list, tensors.FromFlatDataAndDimensions(b.soft, n, len(b.soft)/n))
	}
	if len(b.draws) > 0 {
		list = append(list, tensors.FromFlatDataAndDimensions(b.draws, n, len(b.draws)/n))
	}
	return list, nil
}

// attacked has a batch attacked, and adds what is found to its inputs, with the noise, which it takes.
func (t *trainer) attacked(b batch, step int, list []*tensors.Tensor, noise *tensors.Tensor) (_ []*tensors.Tensor,
	err error) {
	images, n, epsilon := list[0], len(b.labels), t.plan.budget(step)
	found := &perturb.Found{Class: b.labels}
	assigns := t.plan.assigns()
	switch {
	case t.shake != nil:
		soft := tensors.FromFlatDataAndDimensions(b.soft, n, len(b.soft)/n)
		found.Gamma, err = t.shake.Run(epsilon, images, noise, soft, t.weights)
		err = errors.Join(err, free([]*tensors.Tensor{soft}))
	case epsilon > 0 || assigns:
		found, err = t.attack.Run(t.plan.needs.Adversary, epsilon, t.plan.sigma(step), images, noise, b.labels,
			t.weights)
	default:
		found.Gamma = tensors.FromShape(images.Shape())
	}
	if err != nil {
		return append(list, noise), err
	}
	assignment := found.Assignment
	if assignment == nil {
		assignment = make([]float32, n)
	}
	return append(list, found.Gamma, noise, tensors.FromFlatDataAndDimensions(found.Class, n),
		tensors.FromFlatDataAndDimensions(assignment, n, len(assignment)/n)), nil
}

// moreImages moves those of a further set to the device, and has them attacked where the method says so.
func (t *trainer) moreImages(k int, values []float32, step int) (*tensors.Tensor, error) {
	images := t.move(values)
	if t.climbs[k] == nil {
		return images, nil
	}
	epsilon := t.plan.ramps[t.plan.needs.Sets[k].Epsilon].At(t.plan.clock(step))
	if epsilon == 0 {
		return images, nil
	}
	return t.climbs[k].Run(epsilon, images, t.weights)
}

// move brings images to the device.
func (t *trainer) move(values []float32) *tensors.Tensor {
	shape := t.plan.images.Shape
	return tensors.FromFlatDataAndDimensions(values, len(values)/shape.Len(), shape.Height, shape.Width, shape.Channels)
}
