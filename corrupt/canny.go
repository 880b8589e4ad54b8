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
