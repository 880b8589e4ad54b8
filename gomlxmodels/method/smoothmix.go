package method

import (
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"

	. "github.com/gomlx/gomlx/core/graph"
)

// smoothMix mixes an image with one that an attack without a budget has moved away from its label,
// up to half the way, and asks for a less sure prediction there (Jeong et al. 2021); see
// loss.SmoothMix. The near end is the image itself. The authors' variant "one-step adversary",
// where it is the image after one step of the attack, is not here.
type smoothMix struct {
	Noises int     `json:"noises" usage:"noise samples of an image, the same in the attack and in the step"`
	Steps  int     `json:"steps" usage:"steps of the attack"`
	Alpha  float64 `json:"alpha" usage:"Euclidean length of a step of the attack, 1 = full range of a value"`
	Eta    float64 `json:"eta" usage:"weight of the mixed images"`
	WarmUp int     `json:"warm_up" usage:"epochs over which that weight grows"`
}

func (smoothMix) Name() string   { return "smoothmix" }
func (m smoothMix) Check() error { return weights("alpha", m.Alpha, "eta", m.Eta) }

func (m smoothMix) Needs() Needs {
	// As many steps of a length of α never leave the ball of their sum, so that it is no budget.
	a := &attack.Adversary{Epsilon: m.Alpha * float64(m.Steps), Steps: m.Steps, Rate: 0.5,
		Driver: func() attack.Driver { return attack.Lower{} }}
	return Needs{Views: 1, Noises: m.Noises, Adversary: a, Again: true, Draws: 1,
		Ramps: map[string]schedule.Ramp{"mixup": {To: m.Eta, Over: m.WarmUp}}}
}

func (m smoothMix) Loss(b *Batch) []loss.Term {
	t := Squeeze(MulScalar(b.Draws, 0.5), -1)
	rows := perturb.Noisy(Add(b.Clean, Mul(Reshape(t, -1, 1, 1, 1), b.Gamma)), b.Noise)
	return loss.SmoothMix(b.ByCopy(), b.byCopy(b.Forward(rows)), b.Labels, t)
}
