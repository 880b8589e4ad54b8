package method

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/schedule"
)

// The methods that learn from images which are none of the classes minimise
//
//	(1/N) Σ_i CE(x_i, y_i) + (κ/M) Σ_j L(z_j)
//
// over N labelled images and M of the set outSet (Bitterwolf, Meinke and Hein 2020, arXiv
// 2007.08473). There is no noise but of the recipe's σ, on the labelled images.

// outSet is the name of the set of images that are none of the classes.
const outSet = "out"

// Names of the ramps of these methods.
const (
	kappaRamp   = "kappa"
	epsilonRamp = "epsilon"
)

// outlierOptions are the options of κ in epoch e, from 0: kappa·clip((e − kappa_start)/kappa_over,
// 0, 1). A length of 0 is a step.
type outlierOptions struct {
	Kappa      float64 `json:"kappa" usage:"weight of the out-images at the end of the ramp"`
	KappaStart int     `json:"kappa_start" usage:"epoch, from 0, at which the ramp of kappa begins at 0; may be negative"`
	KappaOver  int     `json:"kappa_over" usage:"epochs that it takes"`
}

func (o outlierOptions) check() error {
	if o.KappaOver < 0 {
		return fmt.Errorf("kappa_over is %d; expected 0 or more", o.KappaOver)
	}
	return weight("kappa", o.Kappa)
}

func (o outlierOptions) needs() Needs {
	return Needs{Views: 1, Noises: 1, Sets: []Set{{Name: outSet, Foreign: true}},
		Ramps: map[string]schedule.Ramp{kappaRamp: rampFrom(o.Kappa, o.KappaStart, o.KappaOver)}}
}

// rampFrom is to·clip((e − start)/over, 0, 1) in epoch e; a length of 0 is a step at the start.
func rampFrom(to float64, start, over int) schedule.Ramp {
	if over > 0 {
		start++ // Ramp is at To/Over in its first epoch
	}
	return schedule.Ramp{To: to, Start: start, Over: over}
}

// terms are the cross-entropy and κ times the mean of a loss of the out-images.
func (o outlierOptions) terms(b *Batch, name string, out func(m *More) *Node) []loss.Term {
	return []loss.Term{
		{Name: inLoss, Value: loss.CrossEntropy(b.Logits, b.Labels)},
		{Name: name, Value: Mul(b.Number(kappaRamp), ReduceAllMean(out(b.More[outSet])))},
	}
}

// inLoss is the name of the loss of the labelled images.
const inLoss = "cross-entropy"

// ballOptions are the options of an ε in epoch e, from 0: epsilon·clip((e −
// epsilon_start)/epsilon_over, 0, 1). A length of 0 is a step.
type ballOptions struct {
	Epsilon      float64 `json:"epsilon" usage:"largest change of a value of an out-image after the ramp, 1 = full range"`
	EpsilonStart int     `json:"epsilon_start" usage:"epoch, from 0, at which the ramp of epsilon begins; may be negative"`
	EpsilonOver  int     `json:"epsilon_over" usage:"epochs that it takes"`
}

func (o ballOptions) check() error {
	switch {
	case !(o.Epsilon >= 0 && o.Epsilon <= 1):
		return fmt.Errorf("epsilon is %v; expected a number from 0 to 1", o.Epsilon)
	case o.EpsilonOver < 0:
		return fmt.Errorf("epsilon_over is %d; expected 0 or more", o.EpsilonOver)
	}
	return nil
}

func (o ballOptions) needs(n Needs) Needs {
	n.Ramps[epsilonRamp] = rampFrom(o.Epsilon, o.EpsilonStart, o.EpsilonOver)
	return n
}
