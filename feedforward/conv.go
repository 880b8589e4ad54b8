package feedforward

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

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
}

func newConvolution(in Shape, o ConvOptions, outC int, w, b []float64) *convolution {
	c := &convolution{ConvOptions: o, inC: in[0], inH: in[1], inW: in[2], outC: outC, w: w, wAbs: absolute(w), b: b}
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

// visit calls f for each product of a group: the row of the patch matrix (channel and place in the kernel), the output
// place, and the input place; places in the padding are left out.
func (c *convolution) visit(group int, f func(row, out, in int)) {
	channels := c.inC / c.Groups
	row := 0
	for ch := range channels {
		base := (group*channels + ch) * c.inH * c.inW
		for ky := range c.Kernel[0] {
			for kx := range c.Kernel[1] {
				for oy := range c.outH {
					iy := oy*c.Stride[0] - c.Pad[0] + ky*c.Dilation[0]
					if iy < 0 || iy >= c.inH {
						continue
					}
					for ox := range c.outW {
						ix := ox*c.Stride[1] - c.Pad[1] + kx*c.Dilation[1]
						if ix >= 0 && ix < c.inW {
							f(row, oy*c.outW+ox, base+iy*c.inW+ix)
						}
					}
				}
				row++
			}
		}
	}
}

func (c *convolution) apply(x, y []float64, abs bool) {
	w := c.w
	if abs {
		w = c.wAbs
	}
	area, patch, out := c.outH*c.outW, c.patch(), c.outC/c.Groups
	columns := make([]float64, patch*area)
	for g := range c.Groups {
		clear(columns)
		c.visit(g, func(row, o, i int) { columns[row*area+o] = x[i] })
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, general(out, patch, w[g*out*patch:(g+1)*out*patch]), general(patch, area, columns),
			1, general(out, area, y[g*out*area:(g+1)*out*area]))
	}
}

func (c *convolution) transpose(rows int, g, gin []float64) {
	area, patch, out := c.outH*c.outW, c.patch(), c.outC/c.Groups
	in, all := c.inC*c.inH*c.inW, c.outC*c.outH*c.outW
	columns := make([]float64, patch*area)
	for k := range rows {
		for group := range c.Groups {
			block := g[k*all+group*out*area : k*all+(group+1)*out*area]
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, general(out, patch, c.w[group*out*patch:(group+1)*out*patch]), general(out, area, block),
				0, general(patch, area, columns))
			to := gin[k*in : (k+1)*in]
			c.visit(group, func(row, o, i int) { to[i] += columns[row*area+o] })
		}
	}
}

func (c *convolution) bias() (b, magnitude []float64) { return c.full, nil }
func (c *convolution) terms() int                     { return c.patch() }
func (c *convolution) sizes() (in, out int) {
	return c.inC * c.inH * c.inW, c.outC * c.outH * c.outW
}
