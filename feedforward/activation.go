package feedforward

import (
	"context"
	"math"

	"github.com/certspec/certspec/internal/feedforward/array"
)

// activation is a non-decreasing function applied to each value.
type activation struct {
	f func(x float64) float64
	// slope is the derivative; at a kink, that from the left.
	slope func(x float64) float64
	// rectifier says that the function is max(x, 0), whose gradient is asked for most.
	rectifier bool
	// err bounds how far a float32 evaluation at a value of that magnitude, or ours, may be off f.
	err func(magnitude float64) float64
	// chord returns, for inputs in [l, u], lines a·x + b above and below the function.
	chord func(l, u float64, slope lowerSlope) (upper, lower segment)
}

// segment is the line slope·x + offset.
type segment struct{ slope, offset float64 }

func (l *activation) forward(in [][]float64, out []float64) {
	if l.rectifier {
		for i, v := range in[0] {
			out[i] = max(v, 0)
		}
		return
	}
	for i, v := range in[0] {
		out[i] = l.f(v)
	}
}

func (l *activation) backward(in [][]float64, out, g []float64, gin [][]float64) {
	if l.rectifier {
		to := gin[0]
		for i, v := range in[0] {
			if v > 0 {
				to[i] += g[i]
			}
		}
		return
	}
	for i, v := range in[0] {
		gin[0][i] += l.slope(v) * g[i]
	}
}

func (l *activation) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	for i, lo := range in[0].Lower {
		hi := in[0].Upper[i]
		if math.IsInf(lo, 0) || math.IsInf(hi, 0) { // there may be NaN, of which a clip or a sigmoid makes no number
			out.Lower[i], out.Upper[i] = math.Inf(-1), math.Inf(1)
			continue
		}
		out.Lower[i], out.Upper[i] = l.f(lo), l.f(hi)
		if a != Plain {
			out.Lower[i] -= l.err(math.Abs(lo))
			out.Upper[i] += l.err(math.Abs(hi))
		}
	}
}

// lowerSlope says which line below an activation is taken where several are sound, as below a ReLU between l < 0 < u
// all with slopes from 0 to 1.
type lowerSlope int

const (
	adaptive lowerSlope = iota // that with the smaller area (Zhang et al. 2018)
	flat
	steep
)

func zero(float64) float64 { return 0 }

// relu is max(x, 0). Between l < 0 < u it lies under the chord from (l, 0) to (u, u); the line below has slope 1 where
// u ≥ −l, else 0 (Zhang et al. 2018).
func relu() *activation { return leakyReLU(0) }

// leakyReLU is max(x, αx), for 0 ≤ α ≤ 1.
func leakyReLU(alpha float64) *activation {
	err := zero
	if alpha != 0 {
		err = func(m float64) float64 { return 4*single*alpha*m + tiny }
	}
	return &activation{
		f: func(x float64) float64 { return max(x, alpha*x) },
		slope: func(x float64) float64 {
			if x > 0 {
				return 1
			}
			return alpha
		},
		rectifier: alpha == 0,
		err:       err,
		chord: func(l, u float64, slope lowerSlope) (upper, lower segment) {
			switch {
			case l >= 0:
				return segment{1, 0}, segment{1, 0}
			case u <= 0:
				return segment{alpha, 0}, segment{alpha, 0}
			}
			s := (u - alpha*l) / (u - l)
			below := segment{alpha, 0}
			if slope == steep || slope == adaptive && u >= -l {
				below.slope = 1
			}
			return segment{s, (alpha - s) * l}, below
		},
	}
}

// functionError bounds what implementations of sigmoid and tanh in float32 are off by: their polynomials differ by
// engine, by less than this.
const functionError = 0x1p-18

func sigmoid() *activation {
	f := func(x float64) float64 {
		if x < 0 {
			e := math.Exp(x)
			return e / (1 + e)
		}
		return 1 / (1 + math.Exp(-x))
	}
	return smooth(f, func(x float64) float64 { return f(x) * f(-x) }, func(float64) float64 { return functionError })
}

func tanh() *activation {
	return smooth(math.Tanh, func(x float64) float64 { t := math.Tanh(x); return 1 - t*t },
		func(float64) float64 { return functionError })
}

// smooth is a function whose slope has one peak or none. So on [l, u] it is least at an end, k, and the function less
// k·x does not decrease: parallel lines through the ends bound it (Singh et al. 2019, DeepPoly).
func smooth(f, slope, err func(float64) float64) *activation {
	return &activation{f: f, slope: slope, err: err, chord: func(l, u float64, _ lowerSlope) (upper, lower segment) {
		k := max(0, min(slope(l), slope(u))*(1-0x1p-40)-0x1p-50) // below what rounding makes of it
		return segment{k, f(u) - k*u}, segment{k, f(l) - k*l}
	}}
}

func softplus() *activation {
	return smooth(func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, sigmoid().f,
		func(m float64) float64 { return functionError + 4*single*m })
}

// clip is min(max(x, low), high).
func clip(low, high float64) *activation {
	return &activation{
		f: func(x float64) float64 { return min(max(x, low), high) },
		slope: func(x float64) float64 {
			if x > low && x <= high {
				return 1
			}
			return 0
		},
		err: zero,
		chord: func(l, u float64, slope lowerSlope) (upper, lower segment) {
			fl, fu := min(max(l, low), high), min(max(u, low), high)
			switch {
			case fl == l && fu == u:
				return segment{1, 0}, segment{1, 0}
			case fl == fu:
				return segment{0, fl}, segment{0, fl}
			}
			s := (fu - fl) / (u - l) // of the chord
			upper, lower = segment{s, fl - s*l}, segment{s, fl - s*l}
			switch { // where a bend lies inside, a line through its corner replaces the chord that cuts it
			case fl > l && fu < u:
				upper, lower = segment{0, fu}, segment{0, fl}
			case fl > l: // convex
				lower = segment{0, fl}
				if slope == steep || slope == adaptive && u-fl >= fl-l {
					lower = segment{1, 0}
				}
			default: // concave
				upper = segment{0, fu}
				if fu-l >= u-fu {
					upper = segment{1, 0}
				}
			}
			return upper, lower
		},
	}
}

// ReLU is max(x, 0).
func (b *Builder) ReLU(in int) int { return b.add("Relu", b.Shape(in), relu(), in) }

// LeakyReLU is max(x, alpha·x), 0 ≤ alpha ≤ 1.
func (b *Builder) LeakyReLU(in int, alpha float64) int {
	if !(alpha >= 0 && alpha <= 1) {
		return b.fail("LeakyRelu", "slope %v, want 0 to 1", alpha)
	}
	return b.with([]float64{alpha}).add("LeakyRelu", b.Shape(in), leakyReLU(alpha), in)
}

// Sigmoid is 1/(1 + exp(−x)).
func (b *Builder) Sigmoid(in int) int { return b.add("Sigmoid", b.Shape(in), sigmoid(), in) }

// Tanh is the hyperbolic tangent.
func (b *Builder) Tanh(in int) int { return b.add("Tanh", b.Shape(in), tanh(), in) }

// Softplus is ln(1 + exp(x)).
func (b *Builder) Softplus(in int) int { return b.add("Softplus", b.Shape(in), softplus(), in) }

// Clip is min(max(x, low), high).
func (b *Builder) Clip(in int, low, high float64) int {
	if !(low <= high) {
		return b.fail("Clip", "to [%v, %v]", low, high)
	}
	return b.with([]float64{low, high}).add("Clip", b.Shape(in), clip(low, high), in)
}

// HardSigmoid is min(max(slope·x + offset, 0), 1).
func (b *Builder) HardSigmoid(in int, slope, offset float64) int {
	if err := finite([]float64{slope, offset}); err != nil {
		return b.fail("HardSigmoid", "%v", err)
	}
	in = b.scale(in, &scale{s: []float64{slope}, t: []float64{offset}, times: b.Shape(in).Size(),
		fold: folding{array.Largest([]float64{slope}), array.Largest([]float64{offset}), 1}})
	return b.Clip(in, 0, 1)
}

// HardSwish is x·min(max(x/6 + 1/2, 0), 1).
func (b *Builder) HardSwish(in int) int { return b.Product(in, b.HardSigmoid(in, 1./6, 0.5)) }
