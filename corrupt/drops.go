package corrupt

// findEdges marks edges of the layer with 255 by Canny's method, as OpenCV has it: gradients by Sobel's 3×3 filter with repeated
// borders, |gx| + |gy| for their size, thresholds 50 and 150.
func (d *drops) findEdges() {
	const low, high = 50, 150
	value := func(y, x int) int32 { return int32(d.layer[replicate(y, d.height)*d.width+replicate(x, d.width)]) }
	for y := range d.height {
		for x := range d.width {
			i := y*d.width + x
			d.gx[i] = value(y-1, x+1) + 2*value(y, x+1) + value(y+1, x+1) - value(y-1, x-1) - 2*value(y, x-1) - value(y+1, x-1)
			d.gy[i] = value(y+1, x-1) + 2*value(y+1, x) + value(y+1, x+1) - value(y-1, x-1) - 2*value(y-1, x) - value(y-1, x+1)
		}
	}
	size := func(y, x int) int32 {
		if uint(y) >= uint(d.height) || uint(x) >= uint(d.width) {
			return 0
		}
		i := y*d.width + x
		return max(d.gx[i], -d.gx[i]) + max(d.gy[i], -d.gy[i])
	}
	const unlikely, candidate, edge = 0, 1, 255
	d.stack = d.stack[:0]
	for y := range d.height {
		for x := range d.width {
			i := y*d.width + x
			d.edges[i] = unlikely
			m := size(y, x)
			if m <= low || !d.ridge(i, m, y, x, size) {
				continue
			}
			d.edges[i] = candidate
			if m > high {
				d.edges[i] = edge
				d.stack = append(d.stack, i)
			}
		}
	}
	for len(d.stack) > 0 { // what is connected with an edge is one
		i := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		for y := max(i/d.width-1, 0); y <= min(i/d.width+1, d.height-1); y++ {
			for x := max(i%d.width-1, 0); x <= min(i%d.width+1, d.width-1); x++ {
				if at := y*d.width + x; d.edges[at] == candidate {
					d.edges[at] = edge
					d.stack = append(d.stack, at)
				}
			}
		}
	}
	for i, v := range d.edges {
		if v == candidate {
			d.edges[i] = unlikely
		}
	}
}

// ridge reports whether the gradient of size m is the largest along its own direction, in steps of 45°.
func (d *drops) ridge(i int, m int32, y, x int, size func(y, x int) int32) bool {
	const tan22 = 13573 // tan 22.5° in multiples of 2⁻¹⁵
	gx, gy := d.gx[i], d.gy[i]
	ax, ay := max(gx, -gx), max(gy, -gy)<<15
	switch flat := ax * tan22; {
	case ay < flat:
		return m > size(y, x-1) && m >= size(y, x+1)
	case ay > flat+ax<<16:
		return m > size(y-1, x) && m >= size(y+1, x)
	}
	step := 1
	if gx^gy < 0 {
		step = -1
	}
	return m > size(y-1, x-step) && m > size(y+1, x+step)
}

// chamfer holds half of the 5×5 mask of distances, what comes before a pixel in reading order (Borgefors 1986, with OpenCV's
// lengths 1, 1.4 and 2.1969).
var chamfer = []struct {
	dy, dx int
	length float64
}{
	{-2, -1, 2.1969}, {-2, 1, 2.1969}, {-1, -2, 2.1969}, {-1, -1, 1.4}, {-1, 0, 1}, {-1, 1, 1.4}, {-1, 2, 2.1969}, {0, -1, 1},
}

// distances fills distance with the length of a shortest way to an edge; very long where there is none.
func (d *drops) distances() {
	for i, v := range d.edges {
		d.distance[i] = 1e4
		if v == 255 {
			d.distance[i] = 0
		}
	}
	relax := func(i, sign int) {
		y, x := i/d.width, i%d.width
		best := d.distance[i]
		for _, c := range chamfer {
			ny, nx := y+sign*c.dy, x+sign*c.dx
			if uint(ny) < uint(d.height) && uint(nx) < uint(d.width) {
				best = min(best, d.distance[ny*d.width+nx]+c.length)
			}
		}
		d.distance[i] = best
	}
	for i := range d.distance {
		relax(i, 1)
	}
	for i := len(d.distance) - 1; i >= 0; i-- {
		relax(i, -1)
	}
}
