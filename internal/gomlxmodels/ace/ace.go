// Package ace describes attacks on the confidence of a network, which package perturb carries out, and what they find.
package ace

import (
	"cmp"
	"fmt"
	"math"
)

// Attack holds the settings of an (η, ω)-ACE attack (Emde et al. 2025, equation 2), which changes the confidence of a
// network and leaves its predictions as they are:
//
//	maximise η·CE(f(x + γ), ω)  subject to  ‖γ‖∞ ≤ ε,  arg max f(x + γ) = arg max f(x),  x + γ ∈ [0, 1].
//
// A step adds the gradient of the image's own loss, times Rate. If the loss has not risen for Patience steps, the rate
// falls by Factor, image by image. An image whose prediction changes stops there. The answer is the perturbation with
// the highest loss of those that left the prediction as it was. 0 is one of them: the last one can be worse.
type Attack struct {
	Raise     bool // η = 1, which lowers the confidence in ω; otherwise η = −1, which raises it
	Predicted bool // ω is the prediction; otherwise the label
	Epsilon   float64
	Steps     int     // default 100
	Rate      float64 // default 10
	Patience  int     // default 10
	Factor    float64 // default 0.1
}

// Attacks are the four configurations in the order of the paper's Table 1: (−1, y), (1, y), (−1, ŷ), (1, ŷ).
func Attacks(epsilon float64) []Attack {
	return []Attack{
		{Epsilon: epsilon},
		{Raise: true, Epsilon: epsilon},
		{Predicted: true, Epsilon: epsilon},
		{Raise: true, Predicted: true, Epsilon: epsilon},
	}
}

// String is (η, ω).
func (o Attack) String() string {
	eta, omega := "-1", "y"
	if o.Raise {
		eta = "1"
	}
	if o.Predicted {
		omega = "ŷ"
	}
	return fmt.Sprintf("(%s,%s)", eta, omega)
}

// WithDefaults fills in what is left out, and checks the values.
func (o Attack) WithDefaults() (Attack, error) {
	o.Steps = cmp.Or(o.Steps, 100)
	o.Rate = cmp.Or(o.Rate, 10)
	o.Patience = cmp.Or(o.Patience, 10)
	o.Factor = cmp.Or(o.Factor, 0.1)
	switch {
	case !(o.Epsilon >= 0) || math.IsInf(o.Epsilon, 0):
		return o, fmt.Errorf("attack: epsilon is %v; expected a finite number of at least 0", o.Epsilon)
	case o.Steps < 1 || o.Patience < 1:
		return o, fmt.Errorf("attack: %d steps with patience %d; expected at least 1", o.Steps, o.Patience)
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0) || !(o.Factor > 0 && o.Factor <= 1):
		return o, fmt.Errorf("attack: rate %v with factor %v; expected a finite rate above 0 and a factor in (0, 1]",
			o.Rate, o.Factor)
	}
	return o, nil
}

// Predictions of a network for images.
type Predictions struct {
	Classes    []int     // or classifier.Miss
	Confidence []float64 // softmax probability of the class; 0 for a miss
}
