package perturb

import (
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Smoothed is the compiled form of attacks on the smoothed confidence
//
//	ẑ_n(γ) = (1/m) Σ_j softmax f(x_n + γ_n + δ_nj)[class_n]
//
// under the Euclidean norm (Salman et al. 2019, arXiv 1906.04584, section 3) or L∞. The m noises of an image are the
// same in all steps. All such attacks take steps along the normalised gradient of ẑ_n, or along its signs in L∞. They
// differ in whether an image's confidence is to rise or to fall; a Driver says so step by step.
//
// The gradient taken is that of log ẑ_n, which has the same direction and does not vanish in the number format where
// ẑ_n is small. Where it is zero, the direction of the image's first noise stands in for a random one.
type Smoothed struct {
	look, move *Exec
}

// NewSmoothed prepares attacks on a network in a norm; it is compiled at the first Run with batches of a size.
func NewSmoothed(n *Network, norm attack.Norm) (*Smoothed, error) {
	s := &Smoothed{}
	var err error
	s.look, err = n.step(4, func(in []*Node, forward func(*Node) *Node) []*Node {
		x, gamma, delta, class := in[0], in[1], in[2], in[3]
		logits := forward(Noisy(Add(x, gamma), delta))
		images := x.Shape().Dimensions[0]
		logits = Reshape(logits, -1, images, logits.Shape().Dimensions[1])
		logZ, class := loss.Confidence(logits, class)
		gradient := Gradient(ReduceAllSum(logZ), gamma)[0]
		firstNoise := Slice(delta, AxisRange(0, images))
		direction := unit(gradient, firstNoise)
		if norm == attack.LInf {
			direction = Sign(direction)
		}
		return []*Node{Exp(logZ), class, direction}
	})
	if err != nil {
		return nil, err
	}
	s.move, err = NewExec(n.Backend.Backend, func(in []*Node) *Node {
		x, gamma, direction, way, step, epsilon := in[0], in[1], in[2], in[3], in[4], in[5]
		gamma = Add(gamma, Mul(Mul(direction, perImage(way)), step))
		if norm == attack.LInf {
			return inRange(x, Max(Neg(epsilon), Min(epsilon, gamma)))
		}
		return shorten(inRange(x, gamma), epsilon)
	})
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	s.move.SetMaxCache(-1)
	return s, nil
}

// Noisy adds noise [m·N, …] to images [N, …], sample by sample: row j·N + n is image n with its noise j.
func Noisy(images, noise *Node) *Node {
	d := images.Shape().Dimensions
	m := noise.Shape().Dimensions[0] / d[0]
	if m == 1 {
		return Add(images, noise)
	}
	each := append([]int{m}, d...)
	return Reshape(Add(InsertAxes(images, 0), Reshape(noise, each...)), noise.Shape().Dimensions...)
}

// Found is the result of an attack on the smoothed confidence.
type Found struct {
	Gamma      *tensors.Tensor // perturbations [N, …], on the device; the caller frees them
	Class      []int32         // the class whose confidence was driven
	Assignment []float32       // N×M, where the Driver has one
}

// Close frees the perturbations.
func (f *Found) Close() error { return release(f.Gamma) }

// Run attacks the images x [N, …], under the noises delta [m·N, …], with a budget of epsilon; labels and weights as on
// the device. Its arguments remain the caller's.
func (s *Smoothed) Run(a *attack.Adversary, epsilon, sigma float64, x, delta *tensors.Tensor, labels []int32,
	weights []*tensors.Tensor) (*Found, error) {
	n := len(labels)
	state := &attack.State{
		Sigma: sigma, Epsilon: epsilon, Length: a.Rate * 2 * epsilon / float64(a.Steps),
		Confidence: make([]float64, n), Correct: make([]bool, n), Direction: make([]float32, n),
	}
	class := make([]int32, n)
	for i, label := range labels {
		class[i] = label
		if a.Target == attack.Predicted {
			class[i] = -1
		}
	}
	driver := a.Driver()
	gamma := tensors.FromShape(x.Shape())
	epsilonTensor := tensors.FromScalar(float32(epsilon))
	step := tensors.FromScalar(float32(state.Length))
	defer release(epsilonTensor, step)
	fail := func(err error) (*Found, error) {
		release(gamma)
		return nil, err
	}
	for state.Step = range a.Steps {
		target := tensors.FromFlatDataAndDimensions(class, n)
		outputs, err := call(s.look, []*tensors.Tensor{x, gamma, delta, target}, weights)
		release(target)
		if err != nil {
			return fail(err)
		}
		direction := outputs[2]
		if err := readState(state, outputs[0], outputs[1], class, labels); err != nil {
			return fail(err)
		}
		if err := driver.Drive(state); err != nil {
			return fail(err)
		}
		way := tensors.FromFlatDataAndDimensions(state.Direction, n)
		moved, err := call(s.move, []*tensors.Tensor{x, gamma, direction, way, step, epsilonTensor}, nil)
		if err != nil {
			return fail(err)
		}
		if err := release(append(outputs, gamma, way)...); err != nil {
			return fail(err)
		}
		gamma = moved[0]
	}
	found := &Found{Gamma: gamma, Class: class}
	if assigner, ok := driver.(attack.Assigner); ok {
		found.Assignment = assigner.Assignment()
	}
	return found, nil
}

// readState takes confidences and classes from the device.
func readState(s *attack.State, confidence, class *tensors.Tensor, classes, labels []int32) error {
	z, err := tensors.CopyFlatData[float32](confidence)
	if err != nil {
		return fmt.Errorf("attack: %w", err)
	}
	c, err := tensors.CopyFlatData[int32](class)
	if err != nil {
		return fmt.Errorf("attack: %w", err)
	}
	copy(classes, c)
	for i, v := range z {
		if v-v != 0 {
			return &NotFiniteError{Step: s.Step, Image: i}
		}
		s.Confidence[i] = min(float64(v), 1)
		s.Correct[i] = c[i] == labels[i]
	}
	return nil
}

// NotFiniteError is a network that answers an attacked image with logits that are not finite.
type NotFiniteError struct{ Step, Image int }

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("attack: the smoothed confidence of image %d of the batch is not finite at step %d of the attack",
		e.Image, e.Step+1)
}

// Close frees the compiled steps.
func (s *Smoothed) Close() {
	s.look.Finalize()
	s.move.Finalize()
}
