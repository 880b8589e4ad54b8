package classifier

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Wave cuts the plane of the first two values (x, y) of an image along a sine: class 1 where
// y > f(x) = Level + Amplitude·sin(2πx/Period), with logits (0, y − f(x)). It stands for a
// network whose boundary winds about a simple truth, the line y = Level:
//
//	p_1 = E Φ((y − f(x + σz))/σ),  z standard normal
//
// and smoothing flattens the wave, the sooner the shorter its period.
type Wave struct {
	Shape     pixel.Shape
	Level     float64
	Amplitude float64
	Period    float64
}

func (m Wave) Info() (Info, error) {
	if m.Shape.Len() < 2 {
		return Info{}, fmt.Errorf("classifier: wave for images of %v; expected at least two values", m.Shape)
	}
	for _, v := range []float64{m.Level, m.Amplitude, m.Period} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Info{}, fmt.Errorf("classifier: wave of amplitude %g and period %g about %g; expected finite values",
				m.Amplitude, m.Period, m.Level)
		}
	}
	if m.Period <= 0 {
		return Info{}, fmt.Errorf("classifier: wave of period %g; expected a period > 0", m.Period)
	}
	return toyInfo("wave", m.Shape, 2, digest([]float64{m.Level, m.Amplitude, m.Period}))
}

func (m Wave) Classify(ctx context.Context, batch Batch, result *Result) error {
	return classifyToy(ctx, m, batch, result, func(value func(int) float64, logits []float32) {
		logits[0], logits[1] = 0, float32(value(1)-m.boundary(value(0)))
	})
}

// Probabilities has the mean over z as a sum over points at equal distances (trapezoidal rule), whose
// error for an integrand this smooth falls faster than any power of the distance.
func (m Wave) Probabilities(image []uint8, sigma float64) []float64 {
	value := byteValues(image)
	x, y := value(0), value(1)
	const reach = 8.5 // beyond which a normal value falls with a probability below 10⁻¹⁶
	step := min(0.125, m.Period/(16*sigma))
	nodes := int(math.Ceil(reach / step))
	sum, total := 0.0, 0.0
	for i := -nodes; i <= nodes; i++ {
		z := float64(i) * step
		weight := math.Exp(-z * z / 2)
		total += weight
		sum += weight * normalCDF((y-m.boundary(x+sigma*z))/sigma)
	}
	p := sum / total
	return []float64{1 - p, p}
}

func (m Wave) boundary(x float64) float64 {
	return m.Level + float64(m.Amplitude*math.Sin(2*math.Pi*x/m.Period)) // the conversion forbids a fused multiply-add
}
