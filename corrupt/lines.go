package corrupt

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
)

// lines draws 1, 3, 4, 6, 8 grey lines, one pixel wide and anti-aliased, through random points, in
// directions that spread about a random one.
func lines(j job) func() operator {
	const grey = 128
	count := [...]int{1, 3, 4, 6, 8}[j.Severity-1]
	shape := j.shape
	reach := float64(max(shape.Height, shape.Width))
	return func() operator {
		image := make([]float64, shape.Len())
		return func(dst, src []uint8, r *stream) {
			for i, b := range src {
				image[i] = float64(b)
			}
			base, spread := float64(2*math.Pi*r.uniform()), r.between(.1, 1)
			for range count {
				y, x := r.between(0, float64(shape.Height)), r.between(0, float64(shape.Width))
				sin, cos := portable.Sincos(base + float64(2*math.Pi*spread*(r.uniform()-0.5)))
				dy, dx := float64(reach*sin), float64(reach*cos)
				line(int(y-dy), int(x-dx), int(y+dy), int(x+dx), func(y, x int, coverage float64) {
					if uint(y) >= uint(shape.Height) || uint(x) >= uint(shape.Width) {
						return
					}
					for c := range shape.Channels {
						at := (y*shape.Width+x)*shape.Channels + c
						image[at] = float64((1-coverage)*image[at]) + float64(coverage*grey)
					}
				})
			}
			for i, v := range image {
				dst[i] = truncatedSteps(v)
			}
		}
	}
}

// line puts the pixels of an anti-aliased line with their coverage in [0, 1] (Zingl, A Rasterizing
// Algorithm for Drawing Curves, 2012).
func line(y0, x0, y1, x1 int, put func(y, x int, coverage float64)) {
	dx, stepX := distance(x0, x1)
	dy, stepY := distance(y0, y1)
	length := max(math.Sqrt(float64(dx*dx+dy*dy)), 1)
	at := func(y, x, off int) { put(y, x, max(0, 1-math.Abs(float64(off))/length)) }
	for off := dx - dy; ; {
		at(y0, x0, off-dx+dy)
		here, column := off, x0
		if 2*here >= -dx {
			if x0 == x1 {
				return
			}
			if here+dy < int(math.Ceil(length)) {
				at(y0+stepY, x0, here+dy)
			}
			off -= dy
			x0 += stepX
		}
		if 2*here <= dy {
			if y0 == y1 {
				return
			}
			if dx-here < int(math.Ceil(length)) {
				at(y0, column+stepX, dx-here)
			}
			off += dx
			y0 += stepY
		}
	}
}

// distance is |b − a| and the step from a towards b.
func distance(a, b int) (length, step int) {
	if b < a {
		return a - b, -1
	}
	return b - a, 1
}
