package lines

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mathext"
)

// Probit is Φ⁻¹(p), the standard normal quantile: −Inf at 0, +Inf at 1; p outside [0, 1] is NaN.
func Probit(p float64) float64 {
	if !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	return mathext.NormalQuantile(p)
}

// Phi is Φ(z), the standard normal distribution function.
func Phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Clip keeps accuracies off 0 and 1, where the probit is infinite. The zero value is the half-count clip: an accuracy
// on n images is moved into [1/2n, 1−1/2n]. An accuracy of unknown n is not moved, and refused at 0 and 1.
type Clip struct {
	Share float64 // in (0, ½): accuracies are moved into [Share, 1−Share], whatever their n
}

// String names the clip, as a fit prints it.
func (c Clip) String() string {
	if c.Share == 0 {
		return "1/2n"
	}
	return strconv.FormatFloat(c.Share, 'g', -1, 64)
}

func (c Clip) check() error {
	if c.Share != 0 && !(c.Share > 0 && c.Share < 0.5) {
		return fmt.Errorf("lines: clip at %v, want a share between 0 and 1/2", c.Share)
	}
	return nil
}

// share is the accuracy after the clip.
func (c Clip) share(a Accuracy) (float64, error) {
	if err := a.check(); err != nil {
		return 0, err
	}
	least := c.Share
	if least == 0 && a.N > 0 {
		least = 0.5 / float64(a.N)
	}
	p := min(max(a.Share, least), 1-least)
	if p == 0 || p == 1 {
		return 0, fmt.Errorf("accuracy %v of unknown n has no probit: give n, or a clip", a.Share)
	}
	return p, nil
}

// Value is the model's coordinate on an axis: the probit of a clipped accuracy, any other number as it is. ok is false
// where the model does not have the field.
func (m Model) Value(field string, clip Clip) (v float64, ok bool, err error) {
	if a, is := m.Accuracies[field]; is {
		p, err := clip.share(a)
		if err != nil {
			return 0, true, fmt.Errorf("lines: model %q: %s: %w", m.Name, field, err)
		}
		return Probit(p), true, nil
	}
	v, ok = m.Numbers[field]
	return v, ok, nil
}
