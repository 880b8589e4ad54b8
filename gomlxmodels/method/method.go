// Package method holds the ways to train a network: which noisy views of an image a step needs, who disturbs them, and
// the loss.
//
// A Method is a plain value, and its fields are its options. Package train does the rest for every method alike: data,
// views, noise, the attack, the step, checkpoints. A method of your own is a value of this interface in your own
// program; see examples/own-method.
package method

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/pixel"
)

// Method is a way to train. Implementations are structs of plain fields, encoded as JSON: as the options on the card of
// a model, and to tell one run from another.
type Method interface {
	// Name is the method on cards and command lines, e.g. "hcr".
	Name() string
	// Needs says what a step takes for every image.
	Needs() Needs
	// Loss builds the loss as the sum of its terms. It is called while the graph is built and may panic as GoMLX does.
	Loss(b *Batch) []loss.Term
}

// Starter is a method that gives some tensors their first values from the images of the run, in whole rows of values in
// [0, 1]. Images of further sets come by name, cut to the shape of the run's.
type Starter interface {
	Start(shape pixel.Shape, images [][]float64, more map[string][][]float64) (map[string][]float32, error)
}

// Constrainer is a method whose tensors meet a condition: after each step it gives new values for some, of all new ones
// by name.
type Constrainer interface {
	Constrain(tensors func(name string) *Node) map[string]*Node
}

// Needs lists the inputs of a method for every image of a batch. The network sees Views·Noises rows per image.
type Needs struct {
	// Views of an image. A single view is the image itself, or a view by the augmentation of the run if it has one. Of
	// several, the first is the image itself and the others are views by that augmentation, which the run must have.
	Views int
	// Noises per view, independent of each other.
	Noises int
	// Share is the rule by which the rows of a batch get noise; empty for All.
	Share Share
	// Adversary disturbs the image under its noises before the step; nil for none. Views must then be 1.
	Adversary *attack.Adversary
	// Shaken moves each noise sample by itself, beside the rows of the step, for Batch.Forward; nil
	// for none. Views must then be 1.
	Shaken *attack.Noises
	// Again: the loss has the network see as many rows a second time, by Batch.Forward, and the
	// adversary leaves those of the step as they are.
	Again bool
	// Denoiser is that of nets.Architecture. The denoiser alone is trained then, and the run begins with the
	// network behind it. The loss takes Batch.Denoised and Batch.Clean. Views must be 1.
	Denoiser int
	// Blind: the loss takes no logits, so that right answers are not counted.
	Blind bool
	// Soft: the loss takes what is known of an image, Batch.Soft.
	Soft bool
	// Draws are random numbers that the loss takes for every image.
	Draws int
	// Sets are further images of a step, of other sets than the one that the run trains on.
	Sets []Set
	// Posterior is joined with the network; see nets.Architecture. Empty for nothing.
	Posterior string
	Shift     float64 // of nets.ProoD
	// Rates are factors of the learning rate of some tensors, by what their names begin with; these
	// have no weight decay.
	Rates map[string]float64
	// Ramps are numbers of the loss that change during the run, by name; see Batch.Number. A recipe
	// may give others under the same names.
	Ramps map[string]schedule.Ramp
}

// Set is a further set of images, such as images of none of the classes, or images without labels. The network sees one
// row for each image of it, in one batch with all others, unless it is seen later.
type Set struct {
	Name     string
	Labelled bool // its images must have labels of the classes
	Foreign  bool // its images are of none of the classes: a set of those that the run learns from is refused
	// Later: the loss itself runs the network, by Batch.Forward, on those images whose logits it
	// takes. A network with batch normalisation, where the images of a batch depend on each other,
	// sees them with the others all the same.
	Later bool

	// Attack disturbs its images before the step, within the number that the ramp Epsilon gives; nil for none.
	Attack  *loss.Ascent
	Epsilon string
	Clean   bool // the loss takes its images as they were before the attack, too
}

// More is the part of a Set for a step.
type More struct {
	Images *Node // [M, H, W, C], as the network sees them
	Logits *Node // [M, K]; nil of a set that is seen later
	Labels *Node // [M], int32; -1 where the set needs none
	Clean  *Node // with Set.Clean, the images before the attack
}

// Attacks reports whether anything is done to an image or its noises before the step, so that they come apart.
func (n Needs) Attacks() bool { return n.Adversary != nil || n.Shaken != nil }

// Apart reports whether a step gets images and noise apart from each other.
func (n Needs) Apart() bool { return n.Attacks() || n.Denoiser > 0 }

// Rows are how many the network sees of an image in a step, those of the attack and of a second pass included.
func (n Needs) Rows() int {
	rows := 1
	if n.Adversary != nil {
		rows += n.Adversary.Steps
	}
	if n.Shaken != nil {
		rows += n.Shaken.Steps
	}
	if n.Again {
		rows++
	}
	return rows * n.Views * n.Noises
}

// Share is a rule by which the rows of a batch get noise.
type Share string

const (
	All                 Share = "all"          // every row
	HalfExact           Share = "half_exact"   // half of the rows (rounded down), drawn without replacement
	halfWithReplacement Share = "half_replace" // as many draws with replacement: 39 % of the rows on average
)

// shareRules lists the rules.
func shareRules() []Share { return []Share{All, HalfExact, halfWithReplacement} }

// Batch holds the inputs of a loss.
type Batch struct {
	// Logits [Views·Noises·N, K]: row (v·Noises + s)·N + n is view v of image n under its noise s.
	Logits *Node
	Labels *Node   // [N], int32
	Rows   *Node   // the images of the logits, with their noise: [Views·Noises·N, H, W, C]
	Sigma  float64 // of the noise, 1 = full range

	// What an attack begins with and found; nil without one. With Needs.Denoiser there are Clean and
	// Noise, too. Clean are the images without noise [N,
	// H, W, C], Noise is the rows' [Noises·N, H, W, C], and Gamma the perturbations of the
	// images, [N, H, W, C], or with Needs.Shaken the noises in the place of Noise.
	Clean, Noise, Gamma *Node

	Denoised *Node // [Views·Noises·N, H, W, C], with Needs.Denoiser: what the denoiser makes of Rows

	// Forward runs the network on further rows of images, in a pass of its own: batch normalisation
	// takes their mean and variance, and the running averages follow those of both passes.
	Forward func(rows *Node) *Node

	Soft  *Node // [N, K], with Needs.Soft: the run's soft labels, or 1 for the label
	Draws *Node // [N, Needs.Draws], uniform on [0, 1), float32

	Class      *Node // [N], int32: the class whose confidence the adversary drove; nil without one
	Assignment *Node // [N, M], of an attack.Assigner; else nil

	Images, Views, Noises int // N and the factors of the rows

	More map[string]*More // the further sets, by name

	// Differences are bounds U [M, K, K] on the differences of the logits of all images within ε, a
	// scalar, of images [M, H, W, C]; see netgraph.Ball and netgraph.Network.Differences. It may be
	// differentiated.
	Differences func(images, epsilon *Node, clip bool) *Node

	// Intervals are bounds on what a layer gives for them; of a nil ε, its values.
	Intervals func(layer string, images, epsilon *Node, clip bool) (lower, upper *Node)

	Numbers map[string]*Node // scalars; see Number
}

// Number is the value of a ramp of the method in this step, a scalar of the type of the logits.
func (b *Batch) Number(name string) *Node {
	n := b.Numbers[name]
	if n == nil {
		panic(fmt.Errorf("method: the loss asks for the number %q, which is not one of Needs.Ramps", name))
	}
	return ConvertDType(n, b.Logits.DType())
}

// ByView is the logits as [Views, Noises, N, K].
func (b *Batch) ByView() *Node {
	return Reshape(b.Logits, b.Views, b.Noises, b.Images, b.Logits.Shape().Dimensions[1])
}

// ByCopy is the logits as [Views·Noises, N, K].
func (b *Batch) ByCopy() *Node { return b.byCopy(b.Logits) }

func (b *Batch) byCopy(logits *Node) *Node {
	return Reshape(logits, b.Views*b.Noises, b.Images, logits.Shape().Dimensions[1])
}

// Check says what is wrong with the needs of a method, and with its options where the method has a method Check.
func Check(m Method) error {
	if c, ok := m.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("method %s: %w", m.Name(), err)
		}
	}
	n := m.Needs()
	bad := func(format string, args ...any) error {
		return fmt.Errorf("method %s: "+format, append([]any{m.Name()}, args...)...)
	}
	switch {
	case n.Views < 1 || n.Views > maxViews:
		return bad("%d views of an image; expected 1 to %d", n.Views, maxViews)
	case n.Noises < 1 || n.Noises > maxNoises:
		return bad("%d noises; expected 1 to %d", n.Noises, maxNoises)
	case n.Share != "" && n.Share != All && n.Share != HalfExact && n.Share != halfWithReplacement:
		return bad("share of noisy rows %q; expected one of %q", n.Share, shareRules())
	case n.Posterior != "" && !slices.Contains(nets.Posteriors(), n.Posterior):
		return bad("posterior %q; expected none or one of %q", n.Posterior, nets.Posteriors())
	case n.Draws < 0 || n.Draws > maxNoises:
		return bad("%d random numbers for an image; expected 0 to %d", n.Draws, maxNoises)
	case n.Adversary != nil && n.Shaken != nil:
		return bad("two attacks, one of images and one of noises; expected one of them")
	case n.Shaken != nil && n.Views > 1:
		return bad("an attack on noises and %d views; it is on those of one view", n.Views)
	case n.Denoiser > 0 && (n.Views > 1 || n.Attacks() || n.Posterior != "" || len(n.Sets) > 0):
		return bad("a denoiser with several views, an attack, a posterior or further sets")
	case n.Adversary != nil && n.Views > 1:
		return bad("an adversary and %d views; an attack is on one view", n.Views)
	case n.Adversary != nil && n.Adversary.Driver == nil:
		return bad("an adversary without a driver")
	}
	if n.Adversary != nil {
		if err := n.Adversary.Check(); err != nil {
			return bad("%w", err)
		}
	}
	if n.Shaken != nil {
		if err := n.Shaken.Check(); err != nil {
			return bad("%w", err)
		}
	}
	for i, set := range n.Sets {
		if set.Name == "" || slices.ContainsFunc(n.Sets[:i], func(o Set) bool { return o.Name == set.Name }) {
			return bad("two of its further sets, or one without a name, are named %q", set.Name)
		}
		if set.Attack != nil {
			if err := set.Attack.Check(); err != nil {
				return bad("%w", err)
			}
			if _, ok := n.Ramps[set.Epsilon]; !ok {
				return bad("the attack on the set %s is within %q, which is not one of its ramps", set.Name,
					set.Epsilon)
			}
		}
	}
	for name, ramp := range n.Ramps {
		if err := ramp.Check(); err != nil {
			return bad("%s: %w", name, err)
		}
	}
	return nil
}

const (
	maxViews  = 64
	maxNoises = 1 << 16
)

// weight reports an option that is no weight.
func weight(name string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%s is %v; expected a finite number of at least 0", name, v)
	}
	return nil
}

// weights reports the first option that is no weight, of names and values in turn.
func weights(options ...any) error {
	for i := 0; i < len(options); i += 2 {
		if err := weight(options[i].(string), options[i+1].(float64)); err != nil {
			return err
		}
	}
	return nil
}
