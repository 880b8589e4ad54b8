package feedforward

import (
	"context"
	"math"
)

// linear is an affine map y = Wx + b. The wrapper affine makes a layer of it.
type linear interface {
	// apply adds Wx to y; with abs, |W|x. Where ctx ends, the result is unfinished.
	apply(ctx context.Context, x, y []float64, abs bool)
	// spread adds W·in_0 to out_0, and |W|·in to the others; products of a sum may be fused and in any order.
	spread(ctx context.Context, in, out [3][]float64)
	// transpose adds, for each of rows, Wᵀg to gin.
	transpose(ctx context.Context, rows int, g, gin []float64)
	// rowsBack is transpose of the rows of a walk; back is how many terms its sums have.
	rowsBack(s step)
	back() int
	bias() bias
	// terms is the largest number of products in one output.
	terms() int
	folding() folding
	sizes() (in, out int)
}

// folding bounds what an evaluation multiplies a value by and adds to it, in any order, and with its constants folded
// into each other before: the product of those that are above 1, the largest term, and how many constants there are
// for a value.
type folding struct {
	factor, term float64
	constants    int
}

// bias of a layer: output i has b[i/times]. Rounding errors follow the magnitude, at least |b|; nil:
// of |b|. No b: 0.
type bias struct {
	b, magnitude []float64
	times        int
	terms        int // of the sum that an engine may add it to, before the first product or after the last
}

// size is the part of the bias of output i that enters rounding errors.
func (b bias) size(i int) float64 {
	switch {
	case b.magnitude != nil:
		return math.Abs(b.magnitude[i/b.times])
	case b.b != nil:
		return math.Abs(b.b[i/b.times])
	}
	return 0
}

type affine struct{ linear }

func (l affine) forward(in [][]float64, out []float64) {
	l.start(out)
	l.apply(context.Background(), in[0], out, false)
}

// start writes the bias.
func (l affine) start(out []float64) {
	b := l.bias()
	if b.b == nil {
		clear(out)
		return
	}
	for i := range out {
		out[i] = b.b[i/b.times]
	}
}

func (l affine) backward(in [][]float64, out, g []float64, gin [][]float64) {
	l.transpose(context.Background(), 1, g, gin[0])
}

// interval: with c, r, m the centres, radii and magnitudes of the inputs, the outputs lie in
//
//	Wc + b ± ( |W|(r + γ·m + tiny) + γ·|b| + lost ),
//
// where the terms behind r bound what float32 arithmetic, and our own, may be off by.
func (l affine) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l.enclose(ctx, in[0], out, a)
}

// enclose is interval, and gives the slack of the outputs with it.
func (l affine) enclose(ctx context.Context, in, out Box, a Arithmetic) (slack []float64) {
	nIn, nOut := l.sizes()
	c, r, m := make([]float64, nIn), make([]float64, nIn), make([]float64, nIn)
	in.centre(c, r, m, a)
	gamma := a.gamma(l.terms())
	for i := range r {
		if m[i] = gamma*m[i] + tiny; a == Plain {
			m[i] = 0
		}
		r[i] += m[i]
	}
	centre, radius, slack := make([]float64, nOut), make([]float64, nOut), make([]float64, nOut)
	l.start(centre)
	l.spread(ctx, [3][]float64{c, r, m}, [3][]float64{centre, radius, slack})
	l.finish(centre, radius, out, a)
	l.rounded(slack, a)
	return slack
}

// rounded adds the errors of the bias to a slack.
func (l affine) rounded(slack []float64, a Arithmetic) {
	if a == Plain {
		clear(slack)
		return
	}
	b, lost := l.bias(), a.lose(l.terms())
	added := a.gamma(b.terms)
	for i := range slack {
		slack[i] = (slack[i] + added*b.size(i) + lost) * (1 + 4*host)
	}
}

// spreadByApply is spread of a layer with few products.
func spreadByApply(ctx context.Context, l linear, in, out [3][]float64) {
	for i := range in {
		l.apply(ctx, in[i], out[i], i > 0)
	}
}

// finish adds the errors of the bias and writes the ends.
func (l affine) finish(centre, radius []float64, out Box, a Arithmetic) {
	b, lost := l.bias(), a.lose(l.terms())
	added := a.gamma(b.terms)
	for i, c := range centre {
		r := radius[i]
		if a != Plain {
			r = (r + added*b.size(i) + lost) * (1 + 4*host)
		}
		out.Lower[i], out.Upper[i] = a.down(c-r), a.up(c+r)
	}
}

// slack bounds, for each output, how far an evaluation may be off Wx + b: in float32, and in our own sums.
func (l affine) slack(ctx context.Context, in Box, a Arithmetic) []float64 {
	nIn, nOut := l.sizes()
	slack := make([]float64, nOut)
	if a == Plain {
		return slack
	}
	gamma := a.gamma(l.terms())
	m := make([]float64, nIn)
	for i, lo := range in.Lower {
		m[i] = gamma*max(math.Abs(lo), math.Abs(in.Upper[i])) + tiny
	}
	l.apply(ctx, m, slack, true)
	l.rounded(slack, a)
	return slack
}

func (l affine) merge(ctx context.Context, in, out Box, rows int, g, gin, constant []float64, a Arithmetic) {
	l.transpose(ctx, rows, g, gin)
	b := l.bias()
	slack := l.slack(ctx, in, a)
	_, n := l.sizes()
	for k := range rows {
		constant[k] += offset(g[k*n:(k+1)*n], b, slack)
	}
}

// offset is g·b + |g|·slack; the slack holds the rounding of g·b, too.
func offset(g []float64, b bias, slack []float64) float64 {
	sum := 0.0
	for i, v := range g {
		if v == 0 {
			continue // slack may be infinite where nothing is asked
		}
		if b.b != nil {
			sum += v * b.b[i/b.times]
		}
		sum += math.Abs(v) * slack[i]
	}
	return sum
}
