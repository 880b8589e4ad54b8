package method

import (
	"errors"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
)

// Attack is what all methods with an adversary have as options: its budget, steps and noises.
type Attack struct {
	Noises  int     `json:"noises" usage:"noise samples of an image, the same in the attack and in the step"`
	Epsilon float64 `json:"epsilon" usage:"budget of the attack in its norm, 1 = full range of a value"`
	Steps   int     `json:"steps" usage:"steps of the attack"`
	Rate    float64 `json:"rate" usage:"length of a step over 2·epsilon/steps"`
	WarmUp  int     `json:"warm_up" usage:"epochs over which the budget grows to epsilon"`
	Delay   int     `json:"delay" usage:"epochs without an attack before that"`

	Norm attack.Norm `json:"norm,omitempty" usage:"norm of the budget: l2 (also empty) or linf"`
}

// euclidean refuses the norm L∞ for adversaries that reckon how far a confidence gets, which they do in the Euclidean norm.
func (a Attack) euclidean() error {
	if a.Norm == attack.LInf {
		return fmt.Errorf("norm is %s; expected %s: this adversary bounds confidences in the Euclidean norm", a.Norm, attack.L2)
	}
	return nil
}

func (a Attack) needs(target attack.Target, driver func() attack.Driver) Needs {
	return Needs{Views: 1, Noises: a.Noises, Adversary: &attack.Adversary{
		Norm: a.Norm, Epsilon: a.Epsilon, Steps: a.Steps, Rate: a.Rate, WarmUp: a.WarmUp, Delay: a.Delay, Target: target, Driver: driver,
	}}
}

func attacked(b *Batch) []loss.Term {
	return []loss.Term{{Name: "cross-entropy", Value: loss.CrossEntropy(b.ByCopy(), b.Labels)}}
}

// SmoothAdv minimises the cross-entropy of noisy images that were disturbed to lower the smoothed confidence in their labels
// (Salman et al. 2019, arXiv 1906.04584). With one noise and σ = 0 it is adversarial training of the network itself (Madry et al. 2018,
// arXiv 1706.06083), from the image as it is.
type SmoothAdv struct{ Attack }

func (SmoothAdv) Name() string { return "smoothadv" }
func (m SmoothAdv) Needs() Needs {
	return m.needs(attack.Label, func() attack.Driver { return attack.Lower{} })
}
func (SmoothAdv) Loss(b *Batch) []loss.Term { return attacked(b) }

// BrierACT is adversarial calibration training against the Brier score (Emde et al. 2025, section 4).
type BrierACT struct{ Attack }

func (BrierACT) Name() string { return "brier-act" }
func (m BrierACT) Needs() Needs {
	return m.needs(attack.Predicted, func() attack.Driver { return attack.Brier{} })
}
func (BrierACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// PushACT is training against a constant push of all confidences in the predicted classes: what shows whether an adversary of calibration does
// more than any attack of as many steps.
type PushACT struct {
	Attack
	Up bool `json:"up" usage:"all confidences rise; else they fall"`
}

func (PushACT) Name() string { return "push-act" }
func (m PushACT) Needs() Needs {
	return m.needs(attack.Predicted, func() attack.Driver { return attack.Push{Up: m.Up} })
}
func (PushACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// ExactACT is adversarial calibration training against the largest certified calibration error of the batch; see attack.Exact.
type ExactACT struct {
	Attack
	Hoeffding float64 `json:"hoeffding" usage:"failure probability by which intervals are widened; 0 for estimates as they are"`
	Revision  int     `json:"revision,omitempty" usage:"of the adversary: 0 as certspec had it at first, with steps of one length; 1"`
}

func (ExactACT) Name() string { return "exact-act" }
func (m ExactACT) Check() error {
	return errors.Join(probability("hoeffding", m.Hoeffding), revision(m.Revision), m.euclidean())
}
func (m ExactACT) Needs() Needs {
	return m.needs(attack.Predicted, func() attack.Driver {
		return &attack.Exact{HoeffdingAlpha: m.Hoeffding, Noises: m.Noises, Original: m.Revision == 0}
	})
}
func (ExactACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// Relaxed is what the methods whose adversary is attack.ACCE have as options.
type Relaxed struct {
	Growth    float64 `json:"growth" usage:"factor of the penalty from step to step"`
	Rho       float64 `json:"rho" usage:"penalty at the start, at most 10"`
	StepA     float64 `json:"step_a" usage:"gradient step on the assignment to bins"`
	Weighted  bool    `json:"weighted" usage:"in revision 0: tie confidences to the bins in proportion to their assignment"`
	Hoeffding float64 `json:"hoeffding" usage:"failure probability by which intervals are widened; 0 for estimates as they are"`
	Revision  int     `json:"revision,omitempty" usage:"of the adversary: 0 as certspec had it at first, from an assignment that is the same for all bins; 1"`
}

func (r Relaxed) Check() error {
	for name, v := range map[string]float64{"rho": r.Rho, "step_a": r.StepA} {
		if !(v > 0 && v <= 10) {
			return fmt.Errorf("%s is %v; expected a number in (0, 10]", name, v)
		}
	}
	if !(r.Growth >= 1 && r.Growth <= 1e6) {
		return fmt.Errorf("growth is %v; expected a number of at least 1", r.Growth)
	}
	if r.Weighted && r.Revision != 0 {
		return errors.New("weighted is an option of revision 0")
	}
	return errors.Join(probability("hoeffding", r.Hoeffding), revision(r.Revision))
}

func (r Relaxed) driver(noises int) func() attack.Driver {
	return func() attack.Driver {
		return &attack.ACCE{Growth: r.Growth, Rho: r.Rho, StepA: r.StepA, Weighted: r.Weighted, Original: r.Revision == 0, HoeffdingAlpha: r.Hoeffding, Noises: noises}
	}
}

// ACCEACT is adversarial calibration training against the relaxed certified calibration error of the batch; see attack.ACCE.
type ACCEACT struct {
	Attack
	Relaxed
}

func (ACCEACT) Name() string              { return "acce-act" }
func (m ACCEACT) Check() error            { return errors.Join(m.Relaxed.Check(), m.euclidean()) }
func (m ACCEACT) Needs() Needs            { return m.needs(attack.Predicted, m.driver(m.Noises)) }
func (ACCEACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// ACCEACTStar adds the calibration error itself to the loss; see loss.Calibration.
type ACCEACTStar struct {
	Attack
	Relaxed
	Beta float64 `json:"beta" usage:"weight of the calibration error, a sum over the batch"`
}

func (ACCEACTStar) Name() string   { return "acce-act-star" }
func (m ACCEACTStar) Needs() Needs { return m.needs(attack.Predicted, m.driver(m.Noises)) }

func (m ACCEACTStar) Check() error {
	if err := weight("beta", m.Beta); err != nil {
		return err
	}
	return errors.Join(m.Relaxed.Check(), m.euclidean())
}

func (m ACCEACTStar) Loss(b *Batch) []loss.Term {
	gap := graph.MulScalar(loss.Calibration(b.ByCopy(), b.Labels, b.Class, b.Assignment), m.Beta)
	return append(attacked(b), loss.Term{Name: "calibration", Value: gap})
}

func revision(v int) error {
	if v != 0 && v != 1 {
		return fmt.Errorf("revision is %d; expected 0 or 1", v)
	}
	return nil
}

func probability(name string, v float64) error {
	if !(v >= 0 && v < 1) {
		return fmt.Errorf("%s is %v; expected a number in [0, 1)", name, v)
	}
	return nil
}
