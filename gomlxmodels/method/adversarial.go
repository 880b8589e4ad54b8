package method

import (
	"errors"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
)

// attackOptions are what all methods with an adversary have as options: its budget, steps and
// noises.
type attackOptions struct {
	Noises  int     `json:"noises" usage:"noise samples of an image, the same in the attack and in the step"`
	Epsilon float64 `json:"epsilon" usage:"budget of the attack in its norm, 1 = full range of a value"`
	Steps   int     `json:"steps" usage:"steps of the attack"`
	Rate    float64 `json:"rate" usage:"length of a step over 2·epsilon/steps"`
	WarmUp  int     `json:"warm_up" usage:"epochs over which the budget grows to epsilon"`
	Delay   int     `json:"delay" usage:"epochs without an attack before that"`

	Norm attack.Norm `json:"norm,omitempty" usage:"norm of the budget: l2 (also empty) or linf"`
}

// euclidean refuses the norm L∞ for adversaries that reckon how far a confidence gets, which they
// do in the Euclidean norm.
func (a attackOptions) euclidean() error {
	if a.Norm == attack.LInf {
		return fmt.Errorf("norm is %s; expected %s: this adversary bounds confidences in the Euclidean norm", a.Norm,
			attack.L2)
	}
	return nil
}

func (a attackOptions) needs(target attack.Target, driver func() attack.Driver) Needs {
	return Needs{Views: 1, Noises: a.Noises, Adversary: &attack.Adversary{
		Norm: a.Norm, Epsilon: a.Epsilon, Steps: a.Steps, Rate: a.Rate, WarmUp: a.WarmUp, Delay: a.Delay,
		Target: target, Driver: driver,
	}}
}

func attacked(b *Batch) []loss.Term {
	return []loss.Term{{Name: "cross-entropy", Value: loss.CrossEntropy(b.ByCopy(), b.Labels)}}
}

// smoothAdvers minimises the cross-entropy of noisy images that were disturbed to lower the
// smoothed confidence in their labels (Salman et al. 2019, arXiv 1906.04584). With one noise and σ
// = 0 it is adversarial training of the network itself (Madry et al. 2018, arXiv 1706.06083), from
// the image as it is.
type smoothAdvers struct{ attackOptions }

func (smoothAdvers) Name() string { return "smoothadv" }
func (m smoothAdvers) Needs() Needs {
	return m.needs(attack.Label, func() attack.Driver { return attack.Lower{} })
}
func (smoothAdvers) Loss(b *Batch) []loss.Term { return attacked(b) }

// brierACT is adversarial calibration training against the Brier score (Emde et al. 2025, section
// 4).
type brierACT struct{ attackOptions }

func (brierACT) Name() string { return "brier-act" }
func (m brierACT) Needs() Needs {
	return m.needs(attack.Predicted, func() attack.Driver { return attack.Brier{} })
}
func (brierACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// pushACT is training against a constant push of all confidences in the predicted classes. It is
// the baseline that shows whether an adversary of calibration does more than any attack of as many
// steps.
type pushACT struct {
	attackOptions
	Up bool `json:"up" usage:"all confidences rise; else they fall"`
}

func (pushACT) Name() string { return "push-act" }
func (m pushACT) Needs() Needs {
	return m.needs(attack.Predicted, func() attack.Driver { return attack.Push{Up: m.Up} })
}
func (pushACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// exactACT is adversarial calibration training against the largest certified calibration error of
// the batch; see attack.Exact.
type exactACT struct {
	attackOptions
	Hoeffding float64 `json:"hoeffding" usage:"failure probability that widens intervals; 0 for estimates as they are"`
}

func (exactACT) Name() string { return "exact-act" }
func (m exactACT) Check() error {
	return errors.Join(probability("hoeffding", m.Hoeffding), m.euclidean())
}
func (m exactACT) Needs() Needs {
	return m.needs(attack.Predicted, func() attack.Driver {
		return &attack.Exact{HoeffdingAlpha: m.Hoeffding, Noises: m.Noises}
	})
}
func (exactACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// relaxedOptions are what the methods whose adversary is ADMM on the relaxed program have as
// options.
type relaxedOptions struct {
	Growth    float64 `json:"growth" usage:"factor of the penalty from step to step"`
	Rho       float64 `json:"rho" usage:"penalty at the start, at most 10"`
	StepA     float64 `json:"step_a" usage:"gradient step on the assignment to bins"`
	Hoeffding float64 `json:"hoeffding" usage:"failure probability that widens intervals; 0 for estimates as they are"`
}

func (r relaxedOptions) Check() error {
	for name, v := range map[string]float64{"rho": r.Rho, "step_a": r.StepA} {
		if !(v > 0 && v <= 10) {
			return fmt.Errorf("%s is %v; expected a number in (0, 10]", name, v)
		}
	}
	if !(r.Growth >= 1 && r.Growth <= 1e6) {
		return fmt.Errorf("growth is %v; expected a number of at least 1", r.Growth)
	}
	return probability("hoeffding", r.Hoeffding)
}

func (r relaxedOptions) relaxation(noises int) attack.Relaxation {
	return attack.Relaxation{Growth: r.Growth, Rho: r.Rho, StepA: r.StepA, HoeffdingAlpha: r.Hoeffding, Noises: noises}
}

// uniformOptions are the options of the methods that start the assignment uniformly, as published.
type uniformOptions struct {
	relaxedOptions
	Weighted bool `json:"weighted" usage:"tie confidences to the bins in proportion to their assignment"`
}

func (u uniformOptions) driver(noises int) func() attack.Driver {
	return func() attack.Driver {
		return &attack.ACCE{Relaxation: u.relaxation(noises), Weighted: u.Weighted}
	}
}

// acceACT is adversarial calibration training against the relaxed certified calibration error of
// the batch, as published (Emde et al. 2025); see attack.ACCE.
type acceACT struct {
	attackOptions
	uniformOptions
}

func (acceACT) Name() string              { return "acce-act" }
func (m acceACT) Check() error            { return errors.Join(m.relaxedOptions.Check(), m.euclidean()) }
func (m acceACT) Needs() Needs            { return m.needs(attack.Predicted, m.driver(m.Noises)) }
func (acceACT) Loss(b *Batch) []loss.Term { return attacked(b) }

// acceACTStar adds the calibration error itself to the loss; see loss.Calibration.
type acceACTStar struct {
	attackOptions
	uniformOptions
	Beta float64 `json:"beta" usage:"weight of the calibration error, a sum over the batch"`
}

func (acceACTStar) Name() string   { return "acce-act-star" }
func (m acceACTStar) Needs() Needs { return m.needs(attack.Predicted, m.driver(m.Noises)) }
func (m acceACTStar) Check() error {
	return errors.Join(weight("beta", m.Beta), m.relaxedOptions.Check(), m.euclidean())
}

func (m acceACTStar) Loss(b *Batch) []loss.Term { return calibrated(b, m.Beta) }

// exactStart is ACCEACT, or with Beta ACCEACTStar, whose assignment starts at the exact solution;
// see attack.ExactStart.
type exactStart struct {
	attackOptions
	relaxedOptions
	Beta float64 `json:"beta" usage:"weight of the calibration error, a sum over the batch; 0: none"`
}

func (exactStart) Name() string { return "exact-start" }
func (m exactStart) Needs() Needs {
	return m.needs(attack.Predicted, func() attack.Driver {
		return &attack.ExactStart{Relaxation: m.relaxation(m.Noises)}
	})
}
func (m exactStart) Check() error {
	return errors.Join(weight("beta", m.Beta), m.relaxedOptions.Check(), m.euclidean())
}

func (m exactStart) Loss(b *Batch) []loss.Term {
	if m.Beta == 0 {
		return attacked(b)
	}
	return calibrated(b, m.Beta)
}

func calibrated(b *Batch, beta float64) []loss.Term {
	gap := graph.MulScalar(loss.Calibration(b.ByCopy(), b.Labels, b.Class, b.Assignment), beta)
	return append(attacked(b), loss.Term{Name: "calibration", Value: gap})
}

func probability(name string, v float64) error {
	if !(v >= 0 && v < 1) {
		return fmt.Errorf("%s is %v; expected a number in [0, 1)", name, v)
	}
	return nil
}
