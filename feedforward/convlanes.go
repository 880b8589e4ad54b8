package feedforward

import "github.com/certspec/certspec/internal/feedforward/kernel"

// padded is the input of a convolution within its padding.
type padded struct{ height, width int }

func (c *convolution) padded() padded {
	return padded{c.inH + c.Pad[0] + c.Pad[2], c.inW + c.Pad[1] + c.Pad[3]}
}

// at is where output o begins to read, in a padded channel.
func (c *convolution) at(o int, p padded) int {
	return o/c.outW*c.Stride[0]*p.width + o%c.outW*c.Stride[1]
}

// forwardLanes takes the input, pixel by pixel within its padding, and multiplies tiles of four channels and four
// pixels.
func (c *convolution) forwardLanes(x, y []float64, s *kernel.Scratch) {
	p := c.padded()
	z := s.Take(0, c.inC*p.height*p.width)
	for row := range p.height {
		line := z[row*p.width*c.inC:][:p.width*c.inC]
		iy := row - c.Pad[0]
		if iy < 0 || iy >= c.inH {
			clear(line)
			continue
		}
		clear(line[:c.Pad[1]*c.inC])
		clear(line[(c.Pad[1]+c.inW)*c.inC:])
		line = line[c.Pad[1]*c.inC:]
		for ch := range c.inC {
			from := (ch*c.inH + iy) * c.inW
			for ix := range c.inW {
				line[ix*c.inC+ch] = *kernel.LaneOf(x, from+ix)
			}
		}
	}
	area, patch, out, channels := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.inC/c.Groups
	off := make([]int, 0, patch)
	for ch := range channels {
		for ky := range c.Kernel[0] {
			for kx := range c.Kernel[1] {
				off = append(off, (ky*c.Dilation[0]*p.width+kx*c.Dilation[1])*c.inC+ch)
			}
		}
	}
	var (
		pixels [kernel.TilePixels][]kernel.Lane
		b      [kernel.TileRows]float64
		sums   [kernel.TileRows * kernel.TilePixels]kernel.Lane
	)
	weights := c.pack(&c.forward)
	for g := range c.Groups {
		for o := 0; o < area; o += kernel.TilePixels {
			for q := range pixels {
				pixels[q] = z[c.at(min(o+q, area-1), p)*c.inC+g*channels:]
			}
			count := min(kernel.TilePixels, area-o)
			for row := 0; row < out; row += kernel.TileRows {
				rows := min(kernel.TileRows, out-row)
				if c.b != nil {
					copy(b[:], c.b[g*out+row:][:rows])
				}
				kernel.Multiply(weights[g][row/kernel.TileRows*patch:][:patch], off, &pixels, &b, &sums)
				for r := range rows {
					to := (g*out+row+r)*area + o
					for q := range count {
						kernel.MoveLane(kernel.LaneOf(y, to+q), &sums[r*kernel.TilePixels+q])
					}
				}
			}
		}
	}
	kernel.EndLanes()
}

// transposeLanes multiplies tiles of four places in the kernel and four pixels, from the last pixel to the first: so
// the terms of each input come in the order of the kernel, as in transpose.
func (c *convolution) transposeLanes(g, gin []float64, s *kernel.Scratch) {
	p := c.padded()
	area, patch, out, channels := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.inC/c.Groups
	turned, z := s.Take(1, c.outC*area), s.Take(0, c.inC*p.height*p.width)
	for from := 0; from < area; from += c.outW {
		for ch := range c.outC {
			for o := from; o < from+c.outW; o++ {
				turned[o*c.outC+ch] = *kernel.LaneOf(g, ch*area+o)
			}
		}
	}
	inside := func(f func(in, padded int)) { // the padding keeps what was there before, and nothing reads it
		for ch := range c.inC {
			for iy := range c.inH {
				at, to := (ch*c.inH+iy)*c.inW, (ch*p.height+iy+c.Pad[0])*p.width+c.Pad[1]
				for ix := range c.inW {
					f(at+ix, to+ix)
				}
			}
		}
	}
	inside(func(in, padded int) { z[padded] = *kernel.LaneOf(gin, in) })
	off, places := make([]int, out), make([]int, 0, patch)
	for i := range off {
		off[i] = i
	}
	for ch := range channels {
		for ky := range c.Kernel[0] {
			for kx := range c.Kernel[1] {
				places = append(places, (ch*p.height+ky*c.Dilation[0])*p.width+kx*c.Dilation[1])
			}
		}
	}
	var (
		pixels [kernel.TilePixels][]kernel.Lane
		zero   [kernel.TileRows]float64
		sums   [kernel.TileRows * kernel.TilePixels]kernel.Lane
	)
	weights := c.pack(&c.backward)
	for group := range c.Groups {
		first := z[group*channels*p.height*p.width:]
		for last := area - 1; last >= 0; last -= kernel.TilePixels {
			for q := range pixels {
				pixels[q] = turned[max(last-q, 0)*c.outC+group*out:]
			}
			for row := 0; row < patch; row += kernel.TileRows {
				kernel.Multiply(weights[group][row/kernel.TileRows*out:][:out], off, &pixels, &zero, &sums)
				of := places[row:min(row+kernel.TileRows, patch)]
				for q := range min(kernel.TilePixels, last+1) {
					pixel := first[c.at(last-q, p):]
					for r, place := range of {
						kernel.AddLane(&pixel[place], &sums[r*kernel.TilePixels+q])
					}
				}
			}
		}
	}
	kernel.EndLanes()
	inside(func(in, padded int) { *kernel.LaneOf(gin, in) = z[padded] })
}
