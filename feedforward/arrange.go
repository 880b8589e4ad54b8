package feedforward

import (
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
)

// arrange moves values without computing: y_o = x[from_o], or a constant where from_o is negative. Pad, Transpose,
// Slice. No from: the values stay in their places.
type arrange struct {
	from     []int32
	constant float64
}

func (l *arrange) forward(in [][]float64, out []float64) { l.move(in[0], out) }

func (l *arrange) move(x, y []float64) {
	if l.from == nil {
		copy(y, x)
		return
	}
	for o, i := range l.from {
		if i < 0 {
			y[o] = l.constant
		} else {
			y[o] = x[i]
		}
	}
}

// back adds to each gradient by an input those by the outputs that it goes to; constants calls f for the others.
func (l *arrange) back(g, gin []float64, constants func(o int)) {
	if l.from == nil {
		for i, v := range g {
			gin[i] += v
		}
		return
	}
	for o, i := range l.from {
		if i >= 0 {
			gin[i] += g[o]
		} else {
			constants(o)
		}
	}
}

func (l *arrange) backward(in [][]float64, out, g []float64, gin [][]float64) {
	l.back(g, gin[0], func(int) {})
}

func (l *arrange) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l.move(in[0].Lower, out.Lower)
	l.move(in[0].Upper, out.Upper)
}

func (l *arrange) merge(ctx context.Context, in, out Box, rows int, g, gin, constant []float64, a Arithmetic) {
	n, m := len(out.Lower), len(in.Lower)
	for k := range rows {
		row := g[k*n : (k+1)*n]
		l.back(row, gin[k*m:(k+1)*m], func(o int) {
			if v := row[o]; v != 0 {
				constant[k] += v * l.constant
			}
		})
	}
}

// sum is Σ sign_j·x_j over several inputs of one size. One of them may be a sum itself, to which an engine adds the
// others first.
type sum struct {
	sign  []float64
	terms int
}

func (l *sum) forward(in [][]float64, out []float64) {
	for j, x := range in {
		for i, v := range x {
			out[i] += l.sign[j] * v
		}
	}
}

func (l *sum) backward(in [][]float64, out, g []float64, gin [][]float64) {
	for j := range in {
		for i, v := range g {
			gin[j][i] += l.sign[j] * v
		}
	}
}

func (l *sum) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	slack := l.slack(in, a)
	for i := range out.Lower {
		lo, hi := 0.0, 0.0
		for j, b := range in {
			if l.sign[j] > 0 {
				lo, hi = lo+b.Lower[i], hi+b.Upper[i]
			} else {
				lo, hi = lo-b.Upper[i], hi-b.Lower[i]
			}
		}
		out.Lower[i], out.Upper[i] = a.down(lo-slack[i]), a.up(hi+slack[i])
	}
}

func (l *sum) slack(in []Box, a Arithmetic) []float64 {
	slack := make([]float64, len(in[0].Lower))
	if a == Plain {
		return slack
	}
	gamma := a.gamma(l.terms)
	for i := range slack {
		for _, b := range in {
			slack[i] += gamma*max(-b.Lower[i], b.Upper[i]) + tiny
		}
		slack[i] = (slack[i] + a.lose(len(in))) * (1 + 4*host)
	}
	return slack
}

// concat joins inputs along an axis: blocks times, it takes sizes[j] values of each input j, one after the other.
type concat struct {
	blocks int
	sizes  []int
}

// each calls f for each piece: size values of input j from one place on, which go to another.
func (l *concat) each(f func(j, from, to, size int)) {
	to := 0
	for k := range l.blocks {
		for j, size := range l.sizes {
			f(j, k*size, to, size)
			to += size
		}
	}
}

func (l *concat) forward(in [][]float64, out []float64) {
	l.each(func(j, from, to, size int) { copy(out[to:to+size], in[j][from:]) })
}

func (l *concat) back(g []float64, gin [][]float64) {
	l.each(func(j, from, to, size int) {
		for i, v := range g[to : to+size] {
			gin[j][from+i] += v
		}
	})
}

func (l *concat) backward(in [][]float64, out, g []float64, gin [][]float64) { l.back(g, gin) }

func (l *concat) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l.each(func(j, from, to, size int) {
		copy(out.Lower[to:to+size], in[j].Lower[from:])
		copy(out.Upper[to:to+size], in[j].Upper[from:])
	})
}

// Reshape gives the same values another shape.
func (b *Builder) Reshape(in int, shape ...int) int {
	s := Shape(shape)
	if reason := b.room(s, 0, 0); reason != "" || s.Size() != b.Shape(in).Size() {
		return b.fail("Reshape", "%v to %v", b.Shape(in), s)
	}
	return b.add("Reshape", s, &arrange{}, in)
}

// arrange adds a layer whose value at an index comes from the place in the input that from gives, or is the constant
// where that is negative.
func (b *Builder) arrange(op string, in int, out Shape, constant float64, from func(index []int) int) int {
	if reason := b.room(out, 4, 0); reason != "" {
		return b.fail(op, "%s", reason)
	}
	l := &arrange{make([]int32, 0, out.Size()), constant}
	array.Each(out, func(index []int) { l.from = append(l.from, int32(from(index))) })
	return b.add(op, out, l, in)
}

// Transpose puts axis order[i] of the input at place i.
func (b *Builder) Transpose(in int, order ...int) int {
	s := b.Shape(in)
	sorted := slices.Sorted(slices.Values(order))
	for i, v := range sorted {
		if v != i || len(order) != len(s) {
			return b.fail("Transpose", "order %v of %d axes", order, len(s))
		}
	}
	if len(order) != len(s) {
		return b.fail("Transpose", "order %v of %d axes", order, len(s))
	}
	out := make(Shape, len(s))
	strides := array.Strides(s)
	step := make([]int, len(s))
	for i, o := range order {
		out[i], step[i] = s[o], strides[o]
	}
	return b.with(floats(order)).arrange("Transpose", in, out, 0, func(index []int) int { return array.At(index, step) })
}

// Repeat gives a layer a larger shape by NumPy's rule: axes are put in front, and what has one value along an axis is
// repeated there.
func (b *Builder) Repeat(in int, shape ...int) int {
	from, out := b.Shape(in), Shape(slices.Clone(shape))
	steps, ok := array.Steps(from, out)
	if !ok {
		return b.fail("Repeat", "%v to %v", from, out)
	}
	return b.arrange("Repeat", in, out, 0, func(index []int) int { return array.At(index, steps) })
}

// Pad puts before[i] and after[i] constants around axis i; negative numbers cut values off.
func (b *Builder) Pad(in int, before, after []int, constant float64) int {
	s := b.Shape(in)
	if len(before) != len(s) || len(after) != len(s) || math.IsNaN(constant) || math.IsInf(constant, 0) {
		return b.fail("Pad", "%v and %v with %v around %v; expected numbers for each axis, and a finite constant",
			before, after, constant, s)
	}
	out, strides := make(Shape, len(s)), array.Strides(s)
	for i := range s {
		out[i] = s[i] + before[i] + after[i]
		if max(math.Abs(float64(before[i])), math.Abs(float64(after[i]))) > array.MostValues || out[i] < 1 {
			return b.fail("Pad", "%v and %v around %v; expected at most %d, and 1 value or more that is left", before,
				after,
				s, array.MostValues)
		}
	}
	b.with(floats(before), floats(after), []float64{constant})
	return b.arrange("Pad", in, out, constant, func(index []int) int {
		at := 0
		for i, v := range index {
			v -= before[i]
			if v < 0 || v >= s[i] {
				return -1
			}
			at += v * strides[i]
		}
		return at
	})
}

// Sum is Σ sign_j·x_j of layers of one shape, each sign 1 or −1.
func (b *Builder) Sum(sign []float64, in ...int) int {
	if len(in) == 0 || len(sign) != len(in) {
		return b.fail("Sum", "%d signs of %d layers", len(sign), len(in))
	}
	terms := len(in)
	for i, l := range in {
		terms = max(terms, len(in)+b.net.nodes[l].terms)
		if sign[i] != 1 && sign[i] != -1 {
			return b.fail("Sum", "sign %v", sign[i])
		}
		if !slices.Equal(b.Shape(l), b.Shape(in[0])) {
			return b.fail("Sum", "layers of shapes %v and %v", b.Shape(in[0]), b.Shape(l))
		}
	}
	layer := b.with(sign).add("Sum", b.Shape(in[0]), &sum{slices.Clone(sign), terms}, in...)
	if b.err == nil {
		b.net.nodes[layer].terms = terms
	}
	return layer
}

// Concat joins layers along an axis.
func (b *Builder) Concat(axis int, in ...int) int {
	if len(in) == 0 || axis < 0 || axis >= len(b.Shape(in[0])) {
		return b.fail("Concat", "axis %d of %d layers", axis, len(in))
	}
	out := slices.Clone(b.Shape(in[0]))
	out[axis] = 0
	for _, l := range in {
		s := slices.Clone(b.Shape(l))
		if len(s) != len(out) {
			return b.fail("Concat", "layers of shapes %v and %v", b.Shape(in[0]), b.Shape(l))
		}
		out[axis] += s[axis]
		s[axis] = out[axis]
		if !slices.Equal(s, out) {
			return b.fail("Concat", "layers of shapes %v and %v", b.Shape(in[0]), b.Shape(l))
		}
	}
	l := &concat{blocks: array.Size(out[:axis])}
	for _, i := range in {
		l.sizes = append(l.sizes, Shape(b.Shape(i)[axis:]).Size())
	}
	return b.with([]float64{float64(axis)}).add("Concat", out, l, in...)
}

// most is how many outputs take the same input.
func (l *arrange) most(inputs int) int {
	count, most := make([]int32, inputs), int32(1)
	for _, i := range l.from {
		if i >= 0 {
			count[i]++
			most = max(most, count[i])
		}
	}
	return int(most)
}
