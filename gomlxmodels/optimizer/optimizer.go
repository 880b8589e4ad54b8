// Package optimizer holds what turns a gradient into new weights, as values: SGD and Adam, and what a program adds.
package optimizer

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/choice"
)

// Optimizer is a rule for one step. Implementations are plain structs, whose fields are their options. Register adds
// one of your own.
type Optimizer interface {
	// Name is the optimizer on cards and command lines.
	Name() string
	// Slots names what is kept between steps of every trained tensor: values of the tensor's shape,
	// zero at the beginning. They are part of a checkpoint under these names.
	Slots() []string
	// Scalars are numbers that depend on the step, counted from 1; always equally many.
	Scalars(step int) []float64
	// Update builds the step of one tensor: its new values, and those of its slots.
	Update(t Tensor) (weight *Node, slots []*Node)
}

// Tensor holds an optimizer's inputs for one tensor. All nodes but the scalars have its shape.
type Tensor struct {
	Weight, Gradient *Node
	Rate             *Node   // learning rate, a scalar
	Scalars          []*Node // of the step
	Slots            []*Node
	NoDecay          bool // no weight decay
}

func (t Tensor) decay(v float64) float64 {
	if t.NoDecay {
		return 0
	}
	return v
}

// SGD is stochastic gradient descent with momentum and coupled weight decay, on all parameters, as PyTorch has it:
//
//	v ← µ·v + (∇ + λ·θ),   θ ← θ − η·v   (Nesterov: θ ← θ − η·(∇ + λ·θ + µ·v))
//
// A recipe gives its options by keys of their own.
type SGD struct {
	Momentum    float64 `json:"-"`
	Nesterov    bool    `json:"-"`
	WeightDecay float64 `json:"-"`
}

func (SGD) Name() string          { return "sgd" }
func (SGD) Slots() []string       { return []string{"momentum"} }
func (SGD) Scalars(int) []float64 { return nil }

func (o SGD) Check() error {
	if !(o.Momentum >= 0 && o.Momentum < 1) {
		return fmt.Errorf("momentum %v; expected at least 0 and less than 1", o.Momentum)
	}
	return checkDecay(o.WeightDecay)
}

func (o SGD) Update(t Tensor) (*Node, []*Node) {
	d := Add(t.Gradient, MulScalar(t.Weight, t.decay(o.WeightDecay)))
	v := Add(MulScalar(t.Slots[0], o.Momentum), d)
	way := v
	if o.Nesterov {
		way = Add(d, MulScalar(v, o.Momentum))
	}
	return Sub(t.Weight, Mul(t.Rate, way)), []*Node{v}
}

// Adam is that of Kingma and Ba (2015, algorithm 1), with weight decay as in PyTorch. Coupled, λ·θ is added to the
// gradient; decoupled (Loshchilov and Hutter 2019), η·λ·θ is taken off:
//
//	m ← β₁·m + (1−β₁)·g,   v ← β₂·v + (1−β₂)·g²,   θ ← θ − η·(m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)
type Adam struct {
	Beta1       float64 `json:"beta1" usage:"weight of the past in the mean of the gradient"`
	Beta2       float64 `json:"beta2" usage:"weight of the past in the mean of its square"`
	Epsilon     float64 `json:"epsilon" usage:"added to the root of that mean"`
	Decoupled   bool    `json:"decoupled" usage:"weight decay apart from the gradient (AdamW)"`
	WeightDecay float64 `json:"-"`
}

func (Adam) Name() string    { return "adam" }
func (Adam) Slots() []string { return []string{"mean", "square"} }

func (o Adam) Check() error {
	for name, b := range map[string]float64{"beta1": o.Beta1, "beta2": o.Beta2} {
		if !(b >= 0 && b < 1) {
			return fmt.Errorf("%s is %v; expected at least 0 and less than 1", name, b)
		}
	}
	if !(o.Epsilon > 0) || math.IsInf(o.Epsilon, 0) {
		return fmt.Errorf("epsilon is %v; expected a finite number above 0", o.Epsilon)
	}
	return checkDecay(o.WeightDecay)
}

func (o Adam) Scalars(step int) []float64 {
	return []float64{1 / (1 - math.Pow(o.Beta1, float64(step))), 1 / math.Sqrt(1-math.Pow(o.Beta2, float64(step)))}
}

func (o Adam) Update(t Tensor) (*Node, []*Node) {
	weight, g := t.Weight, t.Gradient
	if o.Decoupled {
		weight = Sub(weight, Mul(t.Rate, MulScalar(weight, t.decay(o.WeightDecay))))
	} else {
		g = Add(g, MulScalar(weight, t.decay(o.WeightDecay)))
	}
	m := Add(MulScalar(t.Slots[0], o.Beta1), MulScalar(g, 1-o.Beta1))
	v := Add(MulScalar(t.Slots[1], o.Beta2), MulScalar(Mul(g, g), 1-o.Beta2))
	way := Div(Mul(m, t.Scalars[0]), AddScalar(Mul(Sqrt(v), t.Scalars[1]), o.Epsilon))
	return Sub(weight, Mul(t.Rate, way)), []*Node{m, v}
}

func checkDecay(v float64) error {
	if !(v >= 0 && v < 1) {
		return fmt.Errorf("weight decay %v; expected at least 0 and less than 1", v)
	}
	return nil
}

var registry = choice.Registry[Optimizer]{Kind: "optimizer", Check: Check}

func init() {
	Register("stochastic gradient descent with momentum", SGD{})
	Register("Adam (Kingma and Ba 2015)", Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
}

// defaultName is the name of the optimizer that With takes for an empty name.
const defaultName = "sgd"

// Check says what is wrong with an optimizer, where it has a method Check.
func Check(o Optimizer) error {
	if c, ok := o.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("optimizer %s: %w", o.Name(), err)
		}
	}
	return nil
}

// Register adds an optimizer of your own, whose fields are the defaults of its options. It panics if another has its
// name.
func Register(description string, o Optimizer) { registry.Register(description, o) }

// Names lists the optimizers.
func Names() []string { return registry.Names() }

// With is the optimizer of a name with options as a card has them.
func With(name string, options map[string]any) (Optimizer, error) {
	if name == "" {
		name = defaultName
	}
	return registry.With(name, options)
}
