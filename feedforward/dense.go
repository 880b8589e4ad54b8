package feedforward

import (
	"context"
	"math"

	"github.com/certspec/certspec/internal/feedforward/array"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// dense is y = Wx + b with W as a matrix, outputs × inputs.
type dense struct {
	in, out     int
	w, wAbs, b  []float64
	single      tiled[float32]
	singleAhead tiled[float32]
	fan         int // inputs of which some were left out, which are zero
}

func newDense(in, out int, w, b []float64) *dense {
	return &dense{in: in, out: out, w: w, wAbs: absolute(w), b: b, fan: in}
}

// part is the layer of some outputs and inputs; the others are zero.
func (d *dense) part(outputs, inputs []int) *dense {
	p := newDense(len(inputs), len(outputs), nil, nil)
	for _, o := range outputs {
		p.w = append(p.w, pick(d.w[o*d.in:(o+1)*d.in], inputs)...)
	}
	if p.fan, p.wAbs = d.fan, absolute(p.w); d.b != nil {
		p.b = pick(d.b, outputs)
	}
	return p
}

func absolute(w []float64) []float64 {
	a := make([]float64, len(w))
	for i, v := range w {
		a[i] = math.Abs(v)
	}
	return a
}

func (d *dense) apply(ctx context.Context, x, y []float64, abs bool) {
	w := d.w
	if abs {
		w = d.wAbs
	}
	const rows = 8 // sums at once, each in the order of the inputs
	o := 0
	for ; o+rows <= d.out; o += rows {
		at := func(r int) []float64 { return w[(o+r)*d.in:][:len(x)] }
		w0, w1, w2, w3, w4, w5, w6, w7 := at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)
		s := (*[rows]float64)(y[o:])
		s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
		for i, v := range x {
			s0, s1, s2, s3 = s0+float64(w0[i]*v), s1+float64(w1[i]*v), s2+float64(w2[i]*v), s3+float64(w3[i]*v)
			s4, s5, s6, s7 = s4+float64(w4[i]*v), s5+float64(w5[i]*v), s6+float64(w6[i]*v), s7+float64(w7[i]*v)
		}
		*s = [rows]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	}
	for ; o < d.out; o++ {
		s := y[o]
		for i, v := range w[o*d.in:][:len(x)] {
			s += float64(v * x[i])
		}
		y[o] = s
	}
}

func (d *dense) spread(ctx context.Context, in, out [3][]float64) {
	for o := range d.out {
		for which, v := range kernel.Products(d.w[o*d.in:(o+1)*d.in], in) {
			out[which][o] += v
		}
		if o%64 == 0 && ctx.Err() != nil {
			return
		}
	}
}

func (d *dense) transpose(ctx context.Context, rows int, g, gin []float64) {
	kernel.Product(rows, d.in, d.out, g, false, d.w, gin)
}

func (d *dense) bias() bias           { return bias{b: d.b, times: 1, terms: d.fan} }
func (d *dense) terms() int           { return d.fan }
func (d *dense) folding() folding     { return folding{array.Largest(d.w), array.Largest(d.b), 1} }
func (d *dense) sizes() (in, out int) { return d.in, d.out }

// Dense is y = Wx + b on all values of a layer; w is outputs × inputs, b has a value an output or is nil.
func (b *Builder) Dense(in, outputs int, w, bias []float64) int {
	size := b.Shape(in).Size()
	if len(w) != outputs*size || bias != nil && len(bias) != outputs {
		return b.fail("Dense", "%d weights and %d biases for %d outputs of %d inputs", len(w), len(bias), outputs, size)
	}
	if err := finite(w, bias); err != nil {
		return b.fail("Dense", "%v", err)
	}
	return b.with(w, bias).addLinear("Dense", Shape{outputs}, newDense(size, outputs, w, bias), in)
}
