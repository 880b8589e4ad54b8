package feedforward

import (
	"context"
	"math"

	"github.com/certspec/certspec/internal/feedforward/array"
)

// scale is y_i = s_j·x_i + t_j with j = i/times: normalisation in inference, multiplication and addition of constants.
type scale struct {
	s, t []float64
	// what of t's parts enters rounding errors, e.g. |s·mean| + |shift| of t = shift − s·mean; nil:
	// |t|
	size   []float64
	times  int
	behind int // terms of the sums that it scales
	fold   folding
}

func (l *scale) apply(ctx context.Context, x, y []float64, abs bool) {
	for j, s := range l.s {
		if abs {
			s = math.Abs(s)
		}
		for i := j * l.times; i < (j+1)*l.times; i++ {
			y[i] += s * x[i]
		}
	}
}

func (l *scale) transpose(ctx context.Context, rows int, g, gin []float64) {
	n, _ := l.sizes()
	for k := range rows {
		for j, s := range l.s {
			for i := k*n + j*l.times; i < k*n+(j+1)*l.times; i++ {
				gin[i] += s * g[i]
			}
		}
	}
}

func (l *scale) bias() bias           { return bias{l.t, l.size, l.times, max(1, l.behind)} }
func (l *scale) terms() int           { return 1 }
func (l *scale) folding() folding     { return l.fold }
func (l *scale) sizes() (in, out int) { return len(l.s) * l.times, len(l.s) * l.times }

// Scale is y_i = s_i·x_i + t_i, with one s and t a value. size is the sum of t's parts that enter rounding
// errors, at least |t|; nil for |t|.
func (b *Builder) Scale(in int, s, t, size []float64) int {
	n := b.Shape(in).Size()
	if len(s) != n || len(t) != n || size != nil && len(size) != n {
		return b.fail("Scale", "%d, %d and %d values for an input of %d", len(s), len(t), len(size), n)
	}
	if err := finite(s, t, size); err != nil {
		return b.fail("Scale", "%v", err)
	}
	return b.scale(in, &scale{s: s, t: t, size: size, times: 1,
		fold: folding{array.Largest(s), array.Largest(t, size), 1}})
}

func (b *Builder) scale(in int, l *scale) int {
	b.with(l.s, l.t, l.size)
	for i := range b.parameters {
		b.parameters[i].times = l.times
	}
	l.behind = b.net.nodes[in].terms
	layer := b.addLinear("Scale", b.Shape(in), l, in)
	if b.err == nil {
		b.net.nodes[layer].terms = l.behind
	}
	return layer
}

// BatchNorm is normalisation in inference, y = γ(x − mean)/√(variance + ε) + β, by channel, the first dimension. No
// variance may be negative, and with ε each must be a number that float32 keeps where subnormal ones are flushed to
// zero.
func (b *Builder) BatchNorm(in int, gamma, beta, mean, variance []float64, epsilon float64) int {
	shape := b.Shape(in)
	if len(shape) == 0 {
		return b.fail("BatchNormalization", "an input without channels")
	}
	channels := shape[0]
	if len(gamma) != channels || len(beta) != channels || len(mean) != channels || len(variance) != channels {
		return b.fail("BatchNormalization", "%d, %d, %d and %d values for %d channels", len(gamma), len(beta),
			len(mean), len(variance), channels)
	}
	if err := finite(gamma, beta, mean, variance); err != nil {
		return b.fail("BatchNormalization", "%v", err)
	}
	l := &scale{s: make([]float64, channels), t: make([]float64, channels), size: make([]float64, channels),
		times: shape.Size() / channels}
	inverse := make([]float64, channels)
	for c := range channels {
		if !(variance[c] >= 0 && variance[c]+epsilon >= tiny && variance[c]+epsilon <= overflow) {
			return b.fail("BatchNormalization", "variance %v + epsilon %v in channel %d", variance[c], epsilon, c)
		}
		inverse[c] = 1 / math.Sqrt(variance[c]+epsilon)
		l.s[c] = gamma[c] / math.Sqrt(variance[c]+epsilon)
		l.t[c] = beta[c] - l.s[c]*mean[c]
		l.size[c] = math.Abs(beta[c]) + math.Abs(l.s[c]*mean[c])
	}
	factor := array.Largest(gamma) * array.Largest(inverse)
	l.fold = folding{factor, factor*array.Largest(mean) + array.Largest(beta), 4}
	return b.scale(in, l)
}
