package perturb

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/pixel"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// PGD are the settings of projected gradient ascent on the cross-entropy of an image's label (Madry et al. 2018,
// arXiv 1706.06083), from γ = 0. In the L2 norm a step follows the normalised gradient, in the L∞ norm its signs.
type PGD struct {
	Norm    attack.Norm
	Epsilon float64 // budget, 1 = full range of a value
	Steps   int     // default 20
	Step    float64 // length of a step; default 2.5·Epsilon/Steps
}

func (o PGD) withDefaults() (PGD, error) {
	o.Steps = cmp.Or(o.Steps, 20)
	if o.Step == 0 {
		o.Step = 2.5 * o.Epsilon / float64(o.Steps)
	}
	switch {
	case o.Norm != attack.L2 && o.Norm != attack.LInf:
		return o, fmt.Errorf("attack: norm %q; expected %s or %s", o.Norm, attack.L2, attack.LInf)
	case !(o.Epsilon >= 0) || math.IsInf(o.Epsilon, 0):
		return o, fmt.Errorf("attack: epsilon is %v; expected a finite number of at least 0", o.Epsilon)
	case o.Steps < 1:
		return o, fmt.Errorf("attack: %d steps; expected at least 1", o.Steps)
	case !(o.Step >= 0) || math.IsInf(o.Step, 0):
		return o, fmt.Errorf("attack: a step of %v; expected a finite number of at least 0", o.Step)
	}
	return o, nil
}

// Plain is the compiled form of attacks on the network itself.
type Plain struct {
	network *Network
	pgd     map[attack.Norm]*Exec
	ace     *Exec
}

// NewPlain prepares attacks on a network; it is compiled at the first use with batches of a size.
func NewPlain(n *Network) (*Plain, error) {
	p := &Plain{network: n, pgd: map[attack.Norm]*Exec{}}
	for _, norm := range []attack.Norm{attack.L2, attack.LInf} {
		exec, err := n.step(5, func(in []*Node, forward func(*Node) *Node) []*Node {
			x, gamma, labels, step, epsilon := in[0], in[1], in[2], in[3], in[4]
			each := crossEntropies(forward(Add(x, gamma)), labels)
			gradient := Gradient(ReduceAllSum(each), gamma)[0]
			if norm == attack.LInf {
				moved := Add(gamma, Mul(Sign(gradient), step))
				return []*Node{inRange(x, Max(Neg(epsilon), Min(epsilon, moved)))}
			}
			return []*Node{shorten(inRange(x, Add(gamma, Mul(unit(gradient, nil), step))), epsilon)}
		})
		if err != nil {
			return nil, err
		}
		p.pgd[norm] = exec
	}
	var err error
	p.ace, err = newACEStep(n)
	return p, err
}

// crossEntropies is −log softmax(z)[label] image by image, of logits [N, K].
func crossEntropies(logits, labels *Node) *Node {
	logP, _ := loss.Confidence(InsertAxes(logits, 0), labels)
	return Neg(logP)
}

// PGD disturbs images x [N, …] with their labels, which the caller keeps, and returns γ on the device, which the caller
// frees.
func (p *Plain) PGD(ctx context.Context, o PGD, x *tensors.Tensor, labels []int32,
	weights []*tensors.Tensor) (*tensors.Tensor, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	gamma := tensors.FromShape(x.Shape())
	fixed := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(labels, len(labels)),
		tensors.FromScalar(float32(o.Step)), tensors.FromScalar(float32(o.Epsilon))}
	defer release(fixed...)
	for range o.Steps {
		if err := ctx.Err(); err != nil {
			release(gamma)
			return nil, context.Cause(ctx)
		}
		moved, err := call(p.pgd[o.Norm], append([]*tensors.Tensor{x, gamma}, fixed...), weights)
		if err := release(gamma); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		gamma = moved[0]
	}
	return gamma, nil
}

// Perturb is PGD on values in the memory of the program: images [N, height, width, channels], and the weights in the
// order of Network.Tensors. It returns γ in the order of the images.
//
// Errors: those of PGD; images or weights of another number than their shapes have.
func (p *Plain) Perturb(ctx context.Context, o PGD, shape pixel.Shape, images []float32, labels []int32,
	weights [][]float32) ([]float32, error) {
	n := len(labels)
	if n == 0 || len(images) != n*shape.Len() {
		return nil, fmt.Errorf("attack: %d values of images for %d labels; expected %d for each, of %v", len(images), n,
			shape.Len(), shape)
	}
	if len(weights) != len(p.network.Tensors) {
		return nil, fmt.Errorf("attack: %d weights; expected the network's %d", len(weights), len(p.network.Tensors))
	}
	var own []*tensors.Tensor
	defer func() { release(own...) }()
	for i, t := range p.network.Tensors {
		if size := t.Size(); len(weights[i]) != size {
			return nil, fmt.Errorf("attack: %s has %d values; expected %d, of %v", t.Name, len(weights[i]), size,
				t.Shape)
		}
		own = append(own, tensors.FromFlatDataAndDimensions(slices.Clone(weights[i]), t.Shape...))
	}
	x := tensors.FromFlatDataAndDimensions(slices.Clone(images), n, shape.Height, shape.Width, shape.Channels)
	defer release(x)
	gamma, err := p.PGD(ctx, o, x, labels, own)
	if err != nil {
		return nil, err
	}
	defer release(gamma)
	return tensors.CopyFlatData[float32](gamma)
}

// Close frees the compiled steps.
func (p *Plain) Close() {
	for _, exec := range p.pgd {
		exec.Finalize()
	}
	p.ace.Finalize()
}
