package feedforward

import (
	"context"
	"slices"
	"sync"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

func (l *scale) spread(ctx context.Context, in, out [3][]float64) { spreadByApply(ctx, l, in, out) }

func (l *scale) back() int { return 1 }

func (l *scale) rowsBack(s step) {
	for b := range s.blocks {
		g, to := s.block(b), s.into(0, b)
		for j, by := range l.s {
			factor := float32(by)
			for i := j * l.times; i < (j+1)*l.times; i++ {
				for r, v := range g[i] {
					to[i][r] += float32(factor * v)
				}
			}
		}
	}
}

func (l *average) spread(ctx context.Context, in, out [3][]float64) { spreadByApply(ctx, l, in, out) }

func (l *average) back() int { return 2 * l.places }

func (l *average) rowsBack(s step) {
	var members []int
	for o, by := range l.divisor {
		members = l.members(o, members)
		for b := range s.blocks {
			to := s.into(0, b)
			for r, v := range s.block(b)[o] {
				v /= float32(by)
				for _, i := range members {
					to[i][r] += v
				}
			}
		}
	}
}

func (d *dense) back() int { return d.out }

// tiled are weights for tiles of six values: by value, then product.
type tiled[T float32 | float64] struct {
	once sync.Once
	w    []T
}

// tiles packs the weights of values, each a sum of products of which weight gives one.
func (t *tiled[T]) tiles(values, products int, weight func(value, product int) float64) []T {
	t.once.Do(func() {
		t.w = make([]T, (values+kernel.TileChannels-1)/kernel.TileChannels*kernel.TileChannels*products)
		for v := range values {
			if products == 0 {
				break
			}
			to := t.w[v/kernel.TileChannels*kernel.TileChannels*products+v%kernel.TileChannels:]
			for p := range products {
				to[p*kernel.TileChannels] = T(weight(v, p))
			}
		}
	})
	return t.w
}

func (d *dense) rowsBack(s step) {
	w := d.single.tiles(d.in, d.out, func(i, o int) float64 { return d.w[o*d.in+i] })
	d.multiplyRows(s, s.g, s.gin[0], w, d.in, d.out, s.fresh[0])
}

// multiplyRows adds to y, of so many values in a block, sums of products of x; four blocks are a tile.
func (d *dense) multiplyRows(s step, x, y []kernel.RowLane, w []float32, values, products int, fresh bool) {
	if fresh && products == 0 {
		clear(y[:s.blocks*values])
	}
	if values == 0 || products == 0 {
		return
	}
	var t kernel.Tap
	var sums [kernel.TileSums]kernel.RowLane
	for i := 0; i < values && s.ctx.Err() == nil; i += kernel.TileChannels {
		n := min(kernel.TileChannels, values-i)
		t.W = i * products
		for b := 0; b < s.blocks; b += kernel.TilePlaces { // all blocks while the weights are in the cache
			places := min(kernel.TilePlaces, s.blocks-b)
			for p := range t.X {
				t.X[p] = min(b+p, s.blocks-1) * products
			}
			at := func(c, p int) *kernel.RowLane { return &y[(b+p)*values+i+c] }
			if fresh {
				clear(sums[:])
			}
			for c := 0; c < n && !fresh; c++ {
				for p := range places {
					sums[c*kernel.TilePlaces+p] = *at(c, p)
				}
			}
			kernel.TileSum(&sums, x, w, []kernel.Tap{t}, products)
			for c := range n {
				for p := range places {
					*at(c, p) = sums[c*kernel.TilePlaces+p]
				}
			}
		}
	}
}

func (c *convolution) back() int { return c.outC / c.Groups * c.Kernel[0] * c.Kernel[1] }

// gather makes sums of products with values of other pixels: those of four pixels are a tile. It turns what it reads so
// that the channels of a pixel lie together.
type gather struct {
	values, products, groups int // channels of a group, of the sums and of what they are of
	area, from               int // pixels of both
	w                        []float32
}

// padded is how many channels of a group the tiles have.
func (g gather) padded() int {
	return (g.values + kernel.TileChannels - 1) / kernel.TileChannels * kernel.TileChannels
}

// run takes pixels by quads, with the rows and columns of the kernel that reach them, and the pixels that they reach,
// −1 for none.
func (g gather) run(s step, x, y []kernel.RowLane, fresh bool, columns int, quads func(f func(pixels, ty, tx []int)),
	reached func(pixel, ky, kx int) int) {
	all := g.groups * g.products
	one := walk{blocks: 1}
	turned := one.take((g.from+1)*all, false)
	defer give(turned)
	clear(turned[g.from*all:]) // behind the last pixel
	var sums [kernel.TileSums]kernel.RowLane
	var taps []kernel.Tap
	places := len(g.w) / (g.groups * g.padded() * g.products)
	for b := range s.blocks {
		x, y := x[b*g.from*all:], y[b*g.area*g.groups*g.values:]
		for ch := range all {
			for o, v := range x[ch*g.from : (ch+1)*g.from] {
				turned[o*all+ch] = v
			}
		}
		quads(func(pixels, ty, tx []int) {
			if taps = taps[:0]; s.ctx.Err() != nil {
				return
			}
			for _, ky := range ty {
				for _, kx := range tx {
					t, any := kernel.Tap{W: (ky*columns + kx) * g.products * kernel.TileChannels}, false
					for p := range t.X {
						at := reached(pixels[min(p, len(pixels)-1)], ky, kx)
						if any = any || at >= 0; at < 0 {
							at = g.from
						}
						t.X[p] = at * all
					}
					if any {
						taps = append(taps, t)
					}
				}
			}
			for group := range g.groups {
				for i := 0; i < g.values; i += kernel.TileChannels {
					n := min(kernel.TileChannels, g.values-i)
					at := func(ch, p int) *kernel.RowLane { return &y[(group*g.values+i+ch)*g.area+pixels[p]] }
					if fresh {
						clear(sums[:])
					}
					for ch := 0; ch < n && !fresh; ch++ {
						for p := range pixels {
							sums[ch*kernel.TilePlaces+p] = *at(ch, p)
						}
					}
					weights := g.w[(group*g.padded()+i)*places*g.products:]
					kernel.TileSum(&sums, turned[group*g.products:], weights, taps, g.products)
					for ch := range n {
						for p := range pixels {
							*at(ch, p) = sums[ch*kernel.TilePlaces+p]
						}
					}
				}
			}
		})
	}
}

func (c *convolution) rowsBack(s step) {
	channels, out, places := c.inC/c.Groups, c.outC/c.Groups, c.Kernel[0]*c.Kernel[1]
	g := gather{values: channels, products: out, groups: c.Groups, area: c.inH * c.inW, from: c.outH * c.outW}
	g.w = c.single.tiles(c.Groups*g.padded(), places*out, func(v, p int) float64 {
		group, ch, place, o := v/g.padded(), v%g.padded(), p/out, p%out
		if ch >= channels {
			return 0
		}
		return c.w[((group*out+o)*channels+ch)*places+place]
	})
	g.run(s, s.g, s.gin[0], s.fresh[0], c.Kernel[1], c.quads, func(pixel, ky, kx int) int {
		y, x := pixel/c.inW+c.Pad[0]-ky*c.Dilation[0], pixel%c.inW+c.Pad[1]-kx*c.Dilation[1]
		if y < 0 || x < 0 || y/c.Stride[0] >= c.outH || x/c.Stride[1] >= c.outW {
			return -1
		}
		return y/c.Stride[0]*c.outW + x/c.Stride[1]
	})
}

// quads calls f with up to four inputs of the same remainders by the stride, and the rows and columns of the kernel
// that reach such inputs.
func (c *convolution) quads(f func(pixels, ty, tx []int)) {
	reach := func(axis, remainder int) (places []int) {
		for k := range c.Kernel[axis] {
			if (remainder+c.Pad[axis]-k*c.Dilation[axis])%c.Stride[axis] == 0 {
				places = append(places, k)
			}
		}
		return places
	}
	for py := range c.Stride[0] {
		for px := range c.Stride[1] {
			ty, tx := reach(0, py), reach(1, px)
			var all []int
			for y := py; y < c.inH; y += c.Stride[0] {
				for x := px; x < c.inW; x += c.Stride[1] {
					all = append(all, y*c.inW+x)
				}
			}
			for pixels := range slices.Chunk(all, kernel.TilePlaces) {
				f(pixels, ty, tx)
			}
		}
	}
}
