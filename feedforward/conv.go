package feedforward

import "sync"

// ConvOptions are those of ONNX's operator Conv in two dimensions.
type ConvOptions struct {
	Kernel, Stride, Dilation [2]int // height, width; zero stride or dilation: 1
	Pad                      [4]int // top, left, bottom, right; may be negative in Pad layers only
	Groups                   int    // 0: 1
}

// convolution is a 2-D convolution (correlation, as networks have it), through im2col.
type convolution struct {
	ConvOptions
	inC, inH, inW    int
	outC, outH, outW int
	w, wAbs, b       []float64 // w: outC × inC/Groups × kernel; b: one a channel, or nil
	full             []float64 // the bias at every output
	sparse           bool      // nearly all weights are zero
	packing          sync.Once
	packed           *packed // by pack
}

func newConvolution(in Shape, o ConvOptions, outC int, w, b []float64) *convolution {
	c := &convolution{ConvOptions: o, inC: in[0], inH: in[1], inW: in[2], outC: outC, w: w, wAbs: absolute(w), b: b, sparse: mostlyZero(w)}
	c.outH = outSize(c.inH, o.Kernel[0], o.Stride[0], o.Dilation[0], o.Pad[0]+o.Pad[2])
	c.outW = outSize(c.inW, o.Kernel[1], o.Stride[1], o.Dilation[1], o.Pad[1]+o.Pad[3])
	if b != nil {
		area := c.outH * c.outW
		c.full = make([]float64, outC*area)
		for i := range c.full {
			c.full[i] = b[i/area]
		}
	}
	return c
}

func outSize(in, kernel, stride, dilation, pad int) int {
	span := in + pad - dilation*(kernel-1) - 1
	if span < 0 {
		return 0
	}
	return span/stride + 1
}

func (c *convolution) outShape() Shape { return Shape{c.outC, c.outH, c.outW} }

// patch is the number of products in one output.
func (c *convolution) patch() int { return c.inC / c.Groups * c.Kernel[0] * c.Kernel[1] }

// span is products of neighbouring outputs with one weight: those of row in the patch matrix (channel and place in the kernel) at
// outputs out, out + 1, ... take the inputs in, in + step, ...
type span struct{ row, out, in, count int }

// spans calls f for the products of a group; places in the padding are left out.
func (c *convolution) spans(group int, f func(s span)) {
	channels := c.inC / c.Groups
	row := 0
	for ch := range channels {
		base := (group*channels + ch) * c.inH * c.inW
		for ky := range c.Kernel[0] {
			for kx := range c.Kernel[1] {
				shift, step := kx*c.Dilation[1]-c.Pad[1], c.Stride[1]
				first := (max(-shift, 0) + step - 1) / step             // the first output whose input lies in the row
				count := min((c.inW-shift+step-1)/step, c.outW) - first // up to the last one
				for oy := range c.outH {
					iy := oy*c.Stride[0] - c.Pad[0] + ky*c.Dilation[0]
					if iy >= 0 && iy < c.inH && count > 0 {
						f(span{row, oy*c.outW + first, base + iy*c.inW + first*step + shift, count})
					}
				}
				row++
			}
		}
	}
}

// patches are matrices that are used again: a network asks for several at every evaluation.
var patches sync.Pool

// zeros is a slice of n zeros, to be put back into patches.
func zeros(n int) *[]float64 {
	if p, ok := patches.Get().(*[]float64); ok && cap(*p) >= n {
		*p = (*p)[:n]
		clear(*p)
		return p
	}
	p := make([]float64, n)
	return &p
}

func (c *convolution) apply(x, y []float64, abs bool) {
	area, patch, out, step := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.Stride[1]
	for g := range c.Groups {
		columns := zeros(patch * area)
		c.spans(g, func(s span) {
			to := (*columns)[s.row*area+s.out:][:s.count]
			if step == 1 {
				copy(to, x[s.in:])
				return
			}
			for i := range to {
				to[i] = x[s.in+i*step]
			}
		})
		to := y[g*out*area : (g+1)*out*area]
		switch {
		case c.sparse || !vectors:
			w := c.w
			if abs {
				w = c.wAbs
			}
			productPlain(out, area, patch, w[g*out*patch:(g+1)*out*patch], false, *columns, to)
		case abs:
			productTiles(out, area, patch, c.pack().absolute[g], *columns, to)
		default:
			productTiles(out, area, patch, c.pack().forward[g], *columns, to)
		}
		patches.Put(columns)
	}
}

func (c *convolution) transpose(rows int, g, gin []float64) {
	area, patch, out, step := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.Stride[1]
	in, all := c.inC*c.inH*c.inW, c.outC*c.outH*c.outW
	for k := range rows {
		for group := range c.Groups {
			block := g[k*all+group*out*area : k*all+(group+1)*out*area]
			columns := zeros(patch * area)
			if c.sparse || !vectors {
				productPlain(patch, area, out, c.w[group*out*patch:(group+1)*out*patch], true, block, *columns)
			} else {
				productTiles(patch, area, out, c.pack().backward[group], block, *columns)
			}
			to := gin[k*in : (k+1)*in]
			c.spans(group, func(s span) {
				for i, v := range (*columns)[s.row*area+s.out:][:s.count] {
					to[s.in+i*step] += v
				}
			})
			patches.Put(columns)
		}
	}
}

func (c *convolution) bias() (b, magnitude []float64) { return c.full, nil }
func (c *convolution) terms() int                     { return c.patch() }
func (c *convolution) sizes() (in, out int) {
	return c.inC * c.inH * c.inW, c.outC * c.outH * c.outW
}
