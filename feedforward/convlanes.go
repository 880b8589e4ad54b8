package feedforward

// padded is the input of a convolution within its padding.
type padded struct{ height, width int }

func (c *convolution) padded() padded {
	return padded{c.inH + c.Pad[0] + c.Pad[2], c.inW + c.Pad[1] + c.Pad[3]}
}

// pixelBlock is how many outputs are computed with four rows of weights, before the next four are taken.
const pixelBlock = 32

// forwardLanes takes the input, pixel by pixel within its padding, and multiplies tiles of four channels and two pixels.
func (c *convolution) forwardLanes(x, y []float64, s *scratch) {
	p := c.padded()
	z := s.take(0, c.inC*p.height*p.width*Lanes)
	clear(z)
	for ch := range c.inC {
		for iy := range c.inH {
			at := (ch*c.inH + iy) * c.inW
			to := ((iy+c.Pad[0])*p.width+c.Pad[1])*c.inC + ch
			for ix := range c.inW {
				*laneOf(z, to+ix*c.inC) = *laneOf(x, at+ix)
			}
		}
	}
	area, patch, out, channels := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.inC/c.Groups
	off := make([]int, 0, patch)
	for ch := range channels {
		for ky := range c.Kernel[0] {
			for kx := range c.Kernel[1] {
				off = append(off, ((ky*c.Dilation[0]*p.width+kx*c.Dilation[1])*c.inC+ch)*Lanes)
			}
		}
	}
	weights := c.pack()
	for g := range c.Groups {
		pixel := func(o int) []float64 {
			return z[((o/c.outW*c.Stride[0]*p.width+o%c.outW*c.Stride[1])*c.inC+g*channels)*Lanes:]
		}
		for from := 0; from < area; from += pixelBlock {
			end := min(from+pixelBlock, area)
			for row := 0; row < out; row += tileRows {
				w := weights.forward[g][row/tileRows*patch:][:patch]
				rows := min(tileRows, out-row)
				var (
					b    [tileRows]float64
					none lane // of rows that there are not
					to   [2 * tileRows]*lane
				)
				for r := range tileRows {
					if to[2*r], to[2*r+1] = &none, &none; r < rows && c.b != nil {
						b[r] = c.b[g*out+row+r]
					}
				}
				for o := from; o < end; o += 2 {
					next := min(o+1, end-1)
					for r := range rows {
						at := (g*out + row + r) * area
						to[2*r], to[2*r+1] = laneOf(y, at+o), laneOf(y, at+next)
					}
					multiply(w, off, pixel(o), pixel(next), &b, &to)
				}
			}
		}
	}
	endLanes()
}

// transposeLanes multiplies tiles of four places in the kernel and two pixels, from the last pixel to the first: so the terms of each
// input come in the order of the kernel, as in transpose.
func (c *convolution) transposeLanes(g, gin []float64, s *scratch) {
	p := c.padded()
	area, patch, out, channels := c.outH*c.outW, c.patch(), c.outC/c.Groups, c.inC/c.Groups
	turned, z := s.take(1, len(g)), s.take(0, c.inC*p.height*p.width*Lanes)
	clear(z)
	for ch := range c.outC {
		for o := range area {
			*laneOf(turned, o*c.outC+ch) = *laneOf(g, ch*area+o)
		}
	}
	inside := func(f func(in, padded int)) {
		for ch := range c.inC {
			for iy := range c.inH {
				at, to := (ch*c.inH+iy)*c.inW, (ch*p.height+iy+c.Pad[0])*p.width+c.Pad[1]
				for ix := range c.inW {
					f(at+ix, to+ix)
				}
			}
		}
	}
	inside(func(in, padded int) { *laneOf(z, padded) = *laneOf(gin, in) })
	off, places := make([]int, out), make([]int, 0, patch)
	for i := range off {
		off[i] = i * Lanes
	}
	for ch := range channels {
		for ky := range c.Kernel[0] {
			for kx := range c.Kernel[1] {
				places = append(places, ((ch*p.height+ky*c.Dilation[0])*p.width+kx*c.Dilation[1])*Lanes)
			}
		}
	}
	var (
		zero [tileRows]float64
		sums [2 * tileRows]lane
		at   [2 * tileRows]*lane
	)
	for i := range at {
		at[i] = &sums[i]
	}
	weights := c.pack()
	for group := range c.Groups {
		first := z[group*channels*p.height*p.width*Lanes:]
		for to := area; to > 0; to -= min(pixelBlock, to) {
			from := max(to-pixelBlock, 0)
			for row := 0; row < patch; row += tileRows {
				w := weights.backward[group][row/tileRows*out:][:out]
				of := places[row:min(row+tileRows, patch)]
				for o := to - 1; o >= from; o -= 2 {
					next := max(o-1, from)
					multiply(w, off, turned[(o*c.outC+group*out)*Lanes:], turned[(next*c.outC+group*out)*Lanes:], &zero, &at)
					last := o
					for q := range 2 {
						pixel := first[(last/c.outW*c.Stride[0]*p.width+last%c.outW*c.Stride[1])*Lanes:]
						for r, place := range of {
							addLane(pixel[place:], &sums[2*r+q])
						}
						if last = next; next == o {
							break
						}
					}
				}
			}
		}
	}
	endLanes()
	inside(func(in, padded int) { *laneOf(gin, in) = *laneOf(z, padded) })
}
