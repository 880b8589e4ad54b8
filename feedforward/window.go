package feedforward

import (
	"context"
	"fmt"
)

// windows are the windows of a pooling layer: which inputs an output is made of. An output's rows and columns
// are known apart.
type windows struct {
	options    ConvOptions
	in, out    Shape // channels × height × width
	rows, cols []run
	places     int // of a window, those in the padding included
}

// run is one side of a window: the inputs first, first + step, ..., within the image.
type run struct {
	first, step, count int
	padded             int // places within the image and its padding
}

// size is the number of outputs.
func (w *windows) size() int { return w.out.Size() }

// members are the inputs in the window of an output, in the memory given.
func (w *windows) members(output int, memory []int) []int {
	memory = memory[:0]
	row, col := w.rows[output/w.out[2]%w.out[1]], w.cols[output%w.out[2]]
	channel := output / (w.out[1] * w.out[2]) * w.in[1]
	for y := range row.count {
		at := (channel+row.first+y*row.step)*w.in[2] + col.first
		for range col.count {
			memory = append(memory, at)
			at += col.step
		}
	}
	return memory
}

// inside and padded count the places of an output's window within the image, and within the image and its padding.
func (w *windows) inside(output int) int {
	return w.rows[output/w.out[2]%w.out[1]].count * w.cols[output%w.out[2]].count
}

func (w *windows) padded(output int) int {
	return w.rows[output/w.out[2]%w.out[1]].padded * w.cols[output%w.out[2]].padded
}

// mostMembers is how many values all windows of a layer may hold together: an evaluation visits each.
const mostMembers = 1 << 28

// windows finds those of a pooling layer, from sizes alone.
func (b *Builder) windows(in int, p PoolOptions) (*windows, string) {
	s := b.Shape(in)
	if len(s) != 3 {
		return nil, fmt.Sprintf("an input of shape %v, want channels × height × width", s)
	}
	if p.Kernel == [2]int{} {
		p.Kernel = [2]int{s[1], s[2]}
	}
	o, reason := p.window().defaults()
	if reason != "" {
		return nil, reason
	}
	w := &windows{options: o, in: s, out: Shape{s[0], poolSize(s[1], 0, o, p.CeilMode),
		poolSize(s[2], 1, o, p.CeilMode)},
		places: o.Kernel[0] * o.Kernel[1]}
	if w.out[1] < 1 || w.out[2] < 1 {
		return nil, fmt.Sprintf("kernel %v does not fit into %v", o.Kernel, s)
	}
	if reason := b.room(w.out, 8, 0); reason != "" {
		return nil, reason
	}
	w.rows, w.cols = o.runs(0, s[1], w.out[1]), o.runs(1, s[2], w.out[2])
	sides := [2]int{}
	for i, side := range [][]run{w.rows, w.cols} {
		for _, r := range side {
			if r.count == 0 {
				return nil, "a window lies in the padding alone"
			}
			sides[i] += r.count
		}
	}
	if float64(s[0])*float64(sides[0])*float64(sides[1]) > mostMembers {
		return nil, fmt.Sprintf("windows of %d × %d values in %d channels, at most %d are read", sides[0], sides[1],
			s[0],
			mostMembers)
	}
	return w, ""
}

// runs are the windows along an axis of size inputs.
func (o ConvOptions) runs(axis, size, outputs int) []run {
	runs := make([]run, outputs)
	kernel, step, pad := o.Kernel[axis], o.Dilation[axis], o.Pad[axis]
	upTo := func(start, end int) int { return min(kernel, max(0, (end-start+step-1)/step)) } // places before end
	for i := range runs {
		start := i*o.Stride[axis] - pad
		before := upTo(start, 0)
		runs[i] = run{start + before*step, step, upTo(start, size) - before, upTo(start, size+o.Pad[axis+2])}
	}
	return runs
}

func poolSize(in, axis int, o ConvOptions, ceil bool) int {
	pad := o.Pad[axis] + o.Pad[axis+2]
	n := outSize(in, o.Kernel[axis], o.Stride[axis], o.Dilation[axis], pad)
	last := (n-1)*o.Stride[axis] + o.Dilation[axis]*(o.Kernel[axis]-1) + 1 // places that the windows reach
	if ceil && n > 0 && last < in+pad && n*o.Stride[axis] < in+o.Pad[axis] {
		n++
	}
	return n
}

// average is average pooling: y_o is the sum of the inputs of o divided by divisor_o.
type average struct {
	*windows
	divisor []float64 // by output
	most    int       // terms of a sum
}

func newAverage(w *windows, countPadding bool) *average {
	l := &average{w, make([]float64, w.size()), 0}
	for o := range l.divisor {
		l.most = max(l.most, w.inside(o))
		l.divisor[o] = float64(w.inside(o))
		if countPadding {
			l.divisor[o] = float64(w.padded(o))
		}
	}
	if w.places <= mostTerms { // as many as engines add that do not leave out the padding
		l.most = w.places
	}
	return l
}

func (l *average) apply(ctx context.Context, x, y []float64, abs bool) {
	var members []int
	for o, by := range l.divisor {
		sum := 0.0
		members = l.members(o, members)
		for _, i := range members {
			sum += x[i]
		}
		y[o] += sum / by
	}
}

func (l *average) transpose(ctx context.Context, rows int, g, gin []float64) {
	n, in := len(l.divisor), l.in.Size()
	var members []int
	for k := range rows {
		for o, by := range l.divisor {
			v := g[k*n+o] / by
			members = l.members(o, members)
			for _, i := range members {
				gin[k*in+i] += v
			}
		}
	}
}

func (l *average) bias() bias           { return bias{} }
func (l *average) terms() int           { return l.most }
func (l *average) sizes() (in, out int) { return l.in.Size(), len(l.divisor) }
func (l *average) folding() folding     { return folding{1, 1, 1} }

// maximum is maximum pooling: y_o is the largest of the inputs of o.
type maximum struct{ *windows }

func (l *maximum) first(x []float64, members []int) int {
	best := members[0]
	for _, i := range members[1:] {
		if x[i] > x[best] {
			best = i
		}
	}
	return best
}

// each calls f for every output, with the inputs in its window.
func (l *maximum) each(f func(output int, members []int)) {
	var members []int
	for o := range l.size() {
		members = l.members(o, members)
		f(o, members)
	}
}

func (l *maximum) forward(in [][]float64, out []float64) {
	l.each(func(o int, members []int) { out[o] = in[0][l.first(in[0], members)] })
}

func (l *maximum) backward(in [][]float64, out, g []float64, gin [][]float64) {
	l.each(func(o int, members []int) { gin[0][l.first(in[0], members)] += g[o] })
}

func (l *maximum) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l.each(func(o int, members []int) {
		out.Lower[o] = in[0].Lower[l.first(in[0].Lower, members)]
		out.Upper[o] = in[0].Upper[l.first(in[0].Upper, members)]
	})
}

// AveragePool is average pooling; a kernel of zero size pools the whole image.
func (b *Builder) AveragePool(in int, o PoolOptions) int {
	w, reason := b.windows(in, o)
	if reason != "" {
		return b.fail("AveragePool", "%s", reason)
	}
	l := newAverage(w, o.CountPadding)
	return b.with(o.numbers(), l.divisor).addLinear("AveragePool", w.out, l, in)
}

// MaxPool is maximum pooling; a kernel of zero size pools the whole image.
func (b *Builder) MaxPool(in int, o PoolOptions) int {
	w, reason := b.windows(in, o)
	if reason != "" {
		return b.fail("MaxPool", "%s", reason)
	}
	return b.with(o.numbers()).add("MaxPool", w.out, &maximum{w}, in)
}
