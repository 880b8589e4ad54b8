package feedforward

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// ConvOptions are the attributes of ONNX's operator Conv in two dimensions.
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
	w, b             []float64 // w: outC × inC/Groups × kernel; b: one a channel, or nil
	sparse           bool      // nearly all weights are zero

	forward, absolute, backward packing
	single, singleAhead         tiled[float32]
	spreads                     [2]tiled[float64] // of W and |W|
}

func newConvolution(in Shape, o ConvOptions, outC int, w, b []float64) *convolution {
	c := &convolution{ConvOptions: o, inC: in[0], inH: in[1], inW: in[2], outC: outC,
		w: w, b: b, sparse: kernel.MostlyZero(w)}
	c.outH = outSize(c.inH, o.Kernel[0], o.Stride[0], o.Dilation[0], o.Pad[0]+o.Pad[2])
	c.outW = outSize(c.inW, o.Kernel[1], o.Stride[1], o.Dilation[1], o.Pad[1]+o.Pad[3])
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

// span is products of neighbouring outputs with one weight: those of row in the patch matrix (channel and place in
// the kernel) at outputs out, out + 1, ... of a block take the inputs in, in + step, ...
type span struct{ row, out, in, count int }

// spans calls f for the products of a group's outputs from one to before another; places in the padding are left out.
func (c *convolution) spans(group, from, to int, f func(s span)) {
	channels := c.inC / c.Groups
	row := 0
	for ch := range channels {
		base := (group*channels + ch) * c.inH * c.inW
		for ky := range c.Kernel[0] {
			for kx := range c.Kernel[1] {
				shift, step := kx*c.Dilation[1]-c.Pad[1], c.Stride[1]
				first := (max(-shift, 0) + step - 1) / step    // the first output whose input lies in the row
				last := min((c.inW-shift+step-1)/step, c.outW) // behind the last one
				for oy := from / c.outW; oy*c.outW < to; oy++ {
					iy := oy*c.Stride[0] - c.Pad[0] + ky*c.Dilation[0]
					begin, end := max(first, from-oy*c.outW), min(last, to-oy*c.outW)
					if iy >= 0 && iy < c.inH && begin < end {
						f(span{row, oy*c.outW + begin - from, base + iy*c.inW + begin*step + shift, end - begin})
					}
				}
				row++
			}
		}
	}
}

// patchValues is about how many values a matrix of patches has: outputs are taken in blocks. A test makes it small.
var patchValues = 1 << 20

// block is how many outputs are taken together.
func (c *convolution) block() int {
	return max(kernel.TileCols, patchValues/c.patch()/kernel.TileCols*kernel.TileCols)
}

func (c *convolution) apply(ctx context.Context, x, y []float64, abs bool) {
	area, patch, out, step := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.Stride[1]
	for g := range c.Groups {
		weights := c.w[g*out*patch : (g+1)*out*patch]
		for from := 0; from < area && ctx.Err() == nil; from += c.block() {
			to := min(from+c.block(), area)
			columns := zeros(patch * (to - from))
			c.spans(g, from, to, func(s span) {
				to := (*columns)[s.row*(to-from)+s.out:][:s.count]
				if step == 1 {
					copy(to, x[s.in:])
					return
				}
				for i := range to {
					to[i] = x[s.in+i*step]
				}
			})
			b := kernel.Matrix{Data: *columns, Stride: to - from}
			sums := kernel.Matrix{Data: y[g*out*area+from:], Stride: area}
			switch {
			case c.sparse || !kernel.Vectors:
				w := weights
				if abs {
					w = absolute(w)
				}
				kernel.ProductPlain(out, to-from, patch, w, false, b, sums)
			case abs:
				kernel.ProductTiles(out, to-from, patch, c.pack(&c.absolute)[g], b, sums)
			default:
				kernel.ProductTiles(out, to-from, patch, c.pack(&c.forward)[g], b, sums)
			}
			patches.Put(columns)
		}
	}
}

// spread multiplies tiles of six channels and four times eight outputs.
func (c *convolution) spread(ctx context.Context, in, out [3][]float64) {
	area, patch, channels, step := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.Stride[1]
	padded := (channels + kernel.TileChannels - 1) / kernel.TileChannels * kernel.TileChannels
	var weights [2][]float64
	for abs := range weights {
		weights[abs] = c.spreads[abs].tiles(c.Groups*padded, patch, func(v, p int) float64 {
			if v%padded >= channels {
				return 0
			}
			w := c.w[(v/padded*channels+v%padded)*patch+p]
			if abs == 1 {
				return math.Abs(w)
			}
			return w
		})
	}
	const together = kernel.TilePlaces * Lanes
	columns := make([]kernel.Lane, kernel.TilePlaces*patch)
	var sums [kernel.TileSums]kernel.Lane
	taps := []kernel.Tap{{X: [kernel.TilePlaces]int{0, patch, 2 * patch, 3 * patch}}}
	for group := range c.Groups {
		for from := 0; from < area && ctx.Err() == nil; from += together {
			to := min(from+together, area)
			for which, x := range in {
				clear(columns)
				c.spans(group, from, to, func(s span) {
					for i := 0; i < s.count; {
						to := columns[(s.out+i)/Lanes*patch+s.row][(s.out+i)%Lanes:]
						n := min(len(to), s.count-i)
						if step == 1 {
							copy(to[:n], x[s.in+i:])
						}
						for j := 0; j < n && step > 1; j++ {
							to[j] = x[s.in+(i+j)*step]
						}
						i += n
					}
				})
				w := weights[min(which, 1)][group*padded*patch:]
				for i := 0; i < channels; i += kernel.TileChannels {
					n := min(kernel.TileChannels, channels-i)
					clear(sums[:])
					kernel.TileSums64(&sums, columns, w[i*patch:], taps, patch)
					for ch := range n {
						y := out[which][(group*channels+i+ch)*area:][from:to]
						for o := range y {
							y[o] += sums[ch*kernel.TilePlaces+o/Lanes][o%Lanes]
						}
					}
				}
			}
		}
	}
}

// transpose takes the last outputs first: so the terms of each input come in the order of the kernel.
func (c *convolution) transpose(ctx context.Context, rows int, g, gin []float64) {
	area, patch, out, step := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.Stride[1]
	in, all := c.inC*c.inH*c.inW, c.outC*c.outH*c.outW
	for k := range rows {
		sums := gin[k*in : (k+1)*in]
		for group := range c.Groups {
			for from := (area - 1) / c.block() * c.block(); from >= 0 && ctx.Err() == nil; from -= c.block() {
				to := min(from+c.block(), area)
				columns := zeros(patch * (to - from))
				b := kernel.Matrix{Data: g[k*all+group*out*area+from:], Stride: area}
				products := kernel.Matrix{Data: *columns, Stride: to - from}
				if c.sparse || !kernel.Vectors {
					weights := c.w[group*out*patch : (group+1)*out*patch]
					kernel.ProductPlain(patch, to-from, out, weights, true, b, products)
				} else {
					kernel.ProductTiles(patch, to-from, out, c.pack(&c.backward)[group], b, products)
				}
				c.spans(group, from, to, func(s span) {
					for i, v := range (*columns)[s.row*(to-from)+s.out:][:s.count] {
						sums[s.in+i*step] += v
					}
				})
				patches.Put(columns)
			}
		}
	}
}

func (c *convolution) bias() bias       { return bias{b: c.b, times: c.outH * c.outW, terms: c.patch()} }
func (c *convolution) terms() int       { return c.patch() }
func (c *convolution) folding() folding { return folding{array.Largest(c.w), array.Largest(c.b), 1} }
func (c *convolution) sizes() (in, out int) {
	return c.inC * c.inH * c.inW, c.outC * c.outH * c.outW
}

// packing is the weights of a convolution in tiles of four rows, a list for each group, made when they are first
// asked for: those of forward and absolute rows are channels, those of backward rows are places in the kernel.
type packing struct {
	once  sync.Once
	tiles [][][kernel.TileRows]float64
}

func (c *convolution) pack(p *packing) [][][kernel.TileRows]float64 {
	p.once.Do(func() {
		patch, out := c.patch(), c.outC/c.Groups
		for g := range c.Groups {
			w := c.w[g*out*patch : (g+1)*out*patch]
			switch p {
			case &c.forward:
				p.tiles = append(p.tiles, kernel.PackRows(out, patch, w, false))
			case &c.absolute:
				p.tiles = append(p.tiles, kernel.PackRows(out, patch, absolute(w), false))
			default:
				p.tiles = append(p.tiles, kernel.PackRows(patch, out, w, true))
			}
		}
	})
	return p.tiles
}

// Conv is a 2-D convolution as ONNX has it; w is outputs × channels/groups × kernel height × kernel width.
func (b *Builder) Conv(in, outputs int, o ConvOptions, w, bias []float64) int {
	s := b.Shape(in)
	o, reason := o.defaults()
	switch {
	case reason != "":
		return b.fail("Conv", "%s", reason)
	case len(s) != 3:
		return b.fail("Conv", "an input of shape %v, want channels × height × width", s)
	case s[0]%o.Groups != 0 || outputs%o.Groups != 0 || outputs < 1:
		return b.fail("Conv", "%d groups of %d channels in and %d out", o.Groups, s[0], outputs)
	case len(w) != outputs*(s[0]/o.Groups)*o.Kernel[0]*o.Kernel[1] || bias != nil && len(bias) != outputs:
		return b.fail("Conv", "%d weights and %d biases for %d channels of %v, kernel %v, %d groups", len(w), len(bias),
			outputs, s, o.Kernel, o.Groups)
	}
	if err := finite(w, bias); err != nil {
		return b.fail("Conv", "%v", err)
	}
	c := newConvolution(s, o, outputs, w, bias)
	if c.outH < 1 || c.outW < 1 {
		return b.fail("Conv", "kernel %v does not fit into %v", o.Kernel, s)
	}
	if p := c.padded(); float64(c.inC)*float64(p.height)*float64(p.width) > array.MostValues {
		return b.fail("Conv", "%d channels of %d × %d with the padding, at most %d values are read", c.inC, p.height,
			p.width, array.MostValues)
	}
	return b.with(o.numbers(), w, bias).addLinear("Conv", c.outShape(), c, in)
}

func (o ConvOptions) defaults() (ConvOptions, string) {
	for i := range 2 {
		if o.Stride[i] == 0 {
			o.Stride[i] = 1
		}
		if o.Dilation[i] == 0 {
			o.Dilation[i] = 1
		}
	}
	o.Groups = cmp.Or(o.Groups, 1)
	positive := slices.Concat(o.Kernel[:], o.Stride[:], o.Dilation[:], []int{o.Groups})
	if slices.Min(positive) < 1 || slices.Min(o.Pad[:]) < 0 || slices.Max(positive) > array.MostValues ||
		slices.Max(o.Pad[:]) > array.MostValues {
		return o, fmt.Sprintf("kernel %v, stride %v, dilation %v, padding %v, groups %d; each may be up to %d",
			o.Kernel, o.Stride, o.Dilation, o.Pad, o.Groups, array.MostValues)
	}
	return o, ""
}

func (o ConvOptions) numbers() []float64 {
	return floats(slices.Concat(o.Kernel[:], o.Stride[:], o.Dilation[:], o.Pad[:], []int{o.Groups}))
}
