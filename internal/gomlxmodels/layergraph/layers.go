package layergraph

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/feedforward/parts"
)

type builder = func(b *build, in []*Node) *Node

// layer plans one; a nil builder says that there is no form of it.
func (p *planner) layer(l *parts.Layer) (builder, form) {
	f := p.forms[l.In[0]]
	if f := activation(l); f != nil {
		return func(_ *build, in []*Node) *Node { return f(in[0]) }, p.forms[l.In[0]]
	}
	switch {
	case l.Conv != nil:
		return p.conv(l), image(l.Shape)
	case l.Dense != nil:
		return p.dense(l, f), plain(l.Shape)
	case l.Scale != nil:
		s := p.along("scale", f, func(place int) float64 { return l.Scale.S[place/l.Scale.Times] })
		t := p.along("shift", f, func(place int) float64 { return l.Scale.T[place/l.Scale.Times] })
		return func(b *build, in []*Node) *Node { return Add(Mul(in[0], b.weight(s)), b.weight(t)) }, f
	case l.Average != nil:
		out := image(l.Shape)
		divisor := p.along("divisor", out, func(place int) float64 { return l.Average.Divisor[place] })
		sum := p.pool(l, l.Average.Window, 0, Add, ReduceSum)
		return func(b *build, in []*Node) *Node { return Div(sum(b, in), b.weight(divisor)) }, out
	case l.Max != nil:
		return p.pool(l, *l.Max, math.Inf(-1), Max, ReduceMax), image(l.Shape)
	case l.Move != nil:
		return p.move(l, f)
	case l.Sign != nil:
		return p.sum(l, f), f
	case l.Product:
		other := p.forms[l.In[1]]
		return func(_ *build, in []*Node) *Node { return Mul(in[0], other.to(in[1], f)) }, f
	case l.Concat != nil:
		return p.concat(l)
	case l.Op == "LogSoftmax":
		return func(_ *build, in []*Node) *Node { return LogSoftmax(f.flat(in[0]), 1) }, row(f)
	case l.Op == "LogSumExp":
		return func(_ *build, in []*Node) *Node {
			x := f.flat(in[0])
			most := ReduceAndKeep(x, ReduceMax, 1)
			return Add(most, Log(ReduceAndKeep(Exp(Sub(x, most)), ReduceSum, 1)))
		}, plain([]int{1})
	}
	return nil, form{}
}

// activation is a function of each value by itself, or nil.
func activation(l *parts.Layer) func(x *Node) *Node {
	switch l.Op {
	case "Relu":
		return positive
	case "LeakyRelu":
		return func(x *Node) *Node { return Max(x, MulScalar(x, l.Given[0][0])) }
	case "Clip": // ends that are infinite or beyond float32 are none
		return func(x *Node) *Node {
			if low := l.Given[0][0]; low >= -math.MaxFloat32 {
				x = MaxScalar(x, low)
			}
			if high := l.Given[0][1]; high <= math.MaxFloat32 {
				x = MinScalar(x, high)
			}
			return x
		}
	case "Sigmoid":
		return Sigmoid
	case "Tanh":
		return Tanh
	case "Softplus":
		return func(x *Node) *Node { return Add(positive(x), Log1P(Exp(Neg(Abs(x))))) }
	case "Square":
		return Square
	}
	return nil
}

// positive is max(x, 0), and NaN for NaN.
func positive(x *Node) *Node {
	zero := ZerosLike(x)
	return Where(LessOrEqual(x, zero), zero, x)
}

// images brings the input of a layer channels last.
func (p *planner) images(l *parts.Layer) func(x *Node) *Node {
	from, to := p.forms[l.In[0]], image(p.shapes[l.In[0]])
	return func(x *Node) *Node { return from.to(x, to) }
}

func (p *planner) conv(l *parts.Layer) builder {
	c, out, images := l.Conv, l.Shape[0], p.images(l)
	in, places := p.shapes[l.In[0]][0]/c.Groups, c.Kernel[0]*c.Kernel[1]
	w := make([]float64, len(c.W)) // place × channel in × channel out
	for o := range out {
		for i := range in {
			for at := range places {
				w[(at*in+i)*out+o] = c.W[(o*in+i)*places+at]
			}
		}
	}
	kernel := p.tensor(p.at+"/kernel", []int{c.Kernel[0], c.Kernel[1], in, out}, w)
	return p.plus(c.B, []int{1, 1, 1, out}, func(b *build, in []*Node) *Node {
		return convolved(images(in[0]), b.weight(kernel), c, l.Shape, b.native)
	})
}

// plus adds a bias, where there is one.
func (p *planner) plus(bias []float64, dims []int, to builder) builder {
	if bias == nil {
		return to
	}
	name := p.tensor(p.at+"/bias", dims, bias)
	return func(b *build, in []*Node) *Node { return Add(to(b, in), b.weight(name)) }
}

// convolved is a convolution; on GoMLX's Go backend as one matrix product, which is faster there.
func convolved(x, kernel *Node, c *parts.Conv, out []int, native bool) *Node {
	if !native && c.Groups == 1 {
		n := x.Shape().Dimensions[0]
		columns := Concatenate(taps(x, c.Window, out, 0), 3)
		y := MatMul(Reshape(columns, n*out[1]*out[2], -1), Reshape(kernel, -1, out[0]))
		return Reshape(y, n, out[1], out[2], out[0])
	}
	axes := ConvolveAxesConfig{InputSpatial: []int{1, 2}, InputChannels: 3, KernelSpatial: []int{0, 1},
		KernelInputChannels: 2, KernelOutputChannels: 3, OutputSpatial: []int{1, 2}, OutputChannels: 3}
	pads := [][2]int{{c.Pad[0], c.Pad[2]}, {c.Pad[1], c.Pad[3]}}
	return ConvGeneral(x, kernel, axes, c.Stride[:], pads, nil, c.Dilation[:], c.Groups, 1)
}

// taps are the values that each place of a window sees as it moves over x [N, H, W, C] to channels ×
// height × width outputs; around x is a constant.
func taps(x *Node, w parts.Window, out []int, around float64) (list []*Node) {
	var border [4]compute.PadAxis
	for axis := range 2 {
		reach := (out[1+axis]-1)*w.Stride[axis] + (w.Kernel[axis]-1)*w.Dilation[axis] + 1
		border[1+axis] = compute.PadAxis{Start: w.Pad[axis],
			End: max(0, reach-w.Pad[axis]-x.Shape().Dimensions[1+axis])}
	}
	if border != [4]compute.PadAxis{} {
		x = Pad(x, Scalar(x.Graph(), x.DType(), around), border[:]...)
	}
	for i := range w.Kernel[0] {
		for j := range w.Kernel[1] {
			from := [2]int{i * w.Dilation[0], j * w.Dilation[1]}
			span := func(axis int) SliceAxisSpec {
				to := from[axis] + (out[1+axis]-1)*w.Stride[axis] + 1
				return AxisRange(from[axis], to).Stride(w.Stride[axis])
			}
			list = append(list, Slice(x, AxisRange(), span(0), span(1)))
		}
	}
	return list
}

// pool joins the values of each window; all joins those of a whole image.
func (p *planner) pool(l *parts.Layer, w parts.Window, around float64, join func(x, y *Node) *Node,
	all func(x *Node, axes ...int) *Node) builder {
	images, in := p.images(l), p.shapes[l.In[0]]
	return func(_ *build, nodes []*Node) *Node {
		x := images(nodes[0])
		if w.Kernel == [2]int{in[1], in[2]} && w.Pad == [4]int{} {
			return ReduceAndKeep(x, all, 1, 2)
		}
		list := taps(x, w, l.Shape, around)
		y := list[0]
		for _, x := range list[1:] {
			y = join(y, x)
		}
		return y
	}
}

// dense has its weights in the order of the input's values.
func (p *planner) dense(l *parts.Layer, f form) builder {
	out, places := l.Shape[0], f.places()
	w := make([]float64, len(l.Dense.W))
	for i, place := range places {
		for o := range out {
			w[i*out+o] = l.Dense.W[o*len(places)+place]
		}
	}
	kernel := p.tensor(p.at+"/kernel", []int{len(places), out}, w)
	return p.plus(l.Dense.B, []int{1, out}, func(b *build, in []*Node) *Node {
		return MatMul(Reshape(in[0], in[0].Shape().Dimensions[0], -1), b.weight(kernel))
	})
}

// sum has the form of its first term.
func (p *planner) sum(l *parts.Layer, f form) builder {
	return func(_ *build, in []*Node) *Node {
		y := in[0]
		if l.Sign[0] < 0 {
			y = Neg(y)
		}
		for i, x := range in[1:] {
			join := Add
			if l.Sign[1+i] < 0 {
				join = Sub
			}
			y = join(y, p.forms[l.In[1+i]].to(x, f))
		}
		return y
	}
}

// shaped is a form with the dimensions of a layer.
func (p *planner) shaped(layer int) form {
	f := p.forms[layer]
	if !slices.Equal(f.dims, p.shapes[layer]) {
		return plain(p.shapes[layer])
	}
	return f
}

// concat has the order of its first part.
func (p *planner) concat(l *parts.Layer) (builder, form) {
	order := p.shaped(l.In[0]).order
	axis := 1 + slices.Index(order, int(l.Given[0][0]))
	return func(_ *build, in []*Node) *Node {
		list := make([]*Node, len(in))
		for i, x := range in {
			list[i] = p.forms[l.In[i]].to(x, form{p.shapes[l.In[i]], order})
		}
		return Concatenate(list, axis)
	}, form{l.Shape, order}
}

// move renames axes, pads, or else takes values from their places.
func (p *planner) move(l *parts.Layer, f form) (builder, form) {
	if l.Move.From == nil {
		return func(_ *build, in []*Node) *Node { return in[0] }, f
	}
	from := p.shaped(l.In[0])
	switch l.Op {
	case "Transpose":
		order := make([]int, len(from.order))
		for i, axis := range from.order {
			order[i] = slices.Index(l.Given[0], float64(axis))
		}
		return func(_ *build, in []*Node) *Node { return f.to(in[0], from) }, form{l.Shape, order}
	case "Pad":
		border, cuts := []compute.PadAxis{{}}, []SliceAxisSpec{AxisRange()}
		for _, axis := range from.order {
			before, after := int(l.Given[0][axis]), int(l.Given[1][axis])
			border = append(border, compute.PadAxis{Start: max(0, before), End: max(0, after)})
			cuts = append(cuts, AxisRange(max(0, -before), from.dims[axis]+min(0, after)))
		}
		return func(_ *build, in []*Node) *Node {
			x := Slice(f.to(in[0], from), cuts...)
			return Pad(x, Scalar(x.Graph(), x.DType(), l.Move.Constant), border...)
		}, form{l.Shape, from.order}
	}
	places := make([][]int32, len(l.Move.From))
	for i, place := range l.Move.From {
		if place < 0 {
			return nil, form{}
		}
		places[i] = []int32{place}
	}
	return func(_ *build, in []*Node) *Node {
		x := f.flat(in[0])
		return TransposeAllDims(Gather(TransposeAllDims(x, 1, 0), Const(x.Graph(), places)), 1, 0)
	}, plain([]int{len(places)})
}
