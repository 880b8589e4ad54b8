package raster

// Edges finds the edges of layers of one size.
type Edges struct {
	Marks         []uint8 // of the last layer: 255 at an edge, else 0
	height, width int
	layer         []uint8
	gx, gy        []int32
	stack         []int
}

// NewEdges makes room for layers of a size.
func NewEdges(height, width int) *Edges {
	n := height * width
	return &Edges{Marks: make([]uint8, n), height: height, width: width, gx: make([]int32, n), gy: make([]int32, n)}
}

// Find marks the edges of a layer by Canny's method, as OpenCV has it: gradients by Sobel's 3×3 filter with repeated
// borders, |gx| + |gy| for their size, thresholds 50 and 150.
func (e *Edges) Find(layer []uint8) {
	e.layer = layer
	const low, high = 50, 150
	value := func(y, x int) int32 { return int32(e.layer[Replicate(y, e.height)*e.width+Replicate(x, e.width)]) }
	for y := range e.height {
		for x := range e.width {
			i := y*e.width + x
			e.gx[i] = value(y-1, x+1) + 2*value(y, x+1) + value(y+1, x+1) - value(y-1, x-1) - 2*value(y, x-1) - value(y+
				1, x-1)
			e.gy[i] = value(y+1, x-1) + 2*value(y+1, x) + value(y+1, x+1) - value(y-1, x-1) - 2*value(y-1,
				x) - value(y-1, x+1)
		}
	}
	size := func(y, x int) int32 {
		if uint(y) >= uint(e.height) || uint(x) >= uint(e.width) {
			return 0
		}
		i := y*e.width + x
		return max(e.gx[i], -e.gx[i]) + max(e.gy[i], -e.gy[i])
	}
	const unlikely, candidate, edge = 0, 1, 255
	e.stack = e.stack[:0]
	for y := range e.height {
		for x := range e.width {
			i := y*e.width + x
			e.Marks[i] = unlikely
			m := size(y, x)
			if m <= low || !e.ridge(i, m, y, x, size) {
				continue
			}
			e.Marks[i] = candidate
			if m > high {
				e.Marks[i] = edge
				e.stack = append(e.stack, i)
			}
		}
	}
	for len(e.stack) > 0 { // what is connected with an edge is one
		i := e.stack[len(e.stack)-1]
		e.stack = e.stack[:len(e.stack)-1]
		for y := max(i/e.width-1, 0); y <= min(i/e.width+1, e.height-1); y++ {
			for x := max(i%e.width-1, 0); x <= min(i%e.width+1, e.width-1); x++ {
				if at := y*e.width + x; e.Marks[at] == candidate {
					e.Marks[at] = edge
					e.stack = append(e.stack, at)
				}
			}
		}
	}
	for i, v := range e.Marks {
		if v == candidate {
			e.Marks[i] = unlikely
		}
	}
}

// ridge reports whether the gradient of size m is the largest along its own direction, in steps of 45°.
func (e *Edges) ridge(i int, m int32, y, x int, size func(y, x int) int32) bool {
	const tan22 = 13573 // tan 22.5° in multiples of 2⁻¹⁵
	gx, gy := e.gx[i], e.gy[i]
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
