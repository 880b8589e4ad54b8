package pillow

import (
	"math"

	"github.com/certspec/certspec/pixel"
)

// Filter says how a pixel between pixels is read.
type Filter uint8

const (
	Nearest  Filter = iota // the pixel that the point falls into
	Bilinear               // between the four nearest, the edge continued, rounded down
)

// Affine takes the pixel (x, y) of the output from the point (m0·x + m1·y + m2, m3·x + m4·y + m5)
// of the input, where the middle of a pixel stands at halves; what comes from outside is 0. It is
// Image.transform with AFFINE. Nearest uses the coordinates in steps of 2⁻¹⁶ pixels, where rotation
// or shear is in the matrix, as Pillow does.
func Affine(dst, src []uint8, shape pixel.Shape, m [6]float64, filter Filter) {
	check(dst, src, shape)
	switch {
	case filter == Bilinear:
		bilinear(dst, src, shape, m)
	case m[1] == 0 && m[3] == 0 || !fits(shape, m):
		nearest(dst, src, shape, m)
	default:
		nearestFixed(dst, src, shape, m)
	}
}

// fits reports whether all points can be held in 16.16 fixed point.
func fits(shape pixel.Shape, m [6]float64) bool {
	for _, x := range [2]float64{0, float64(shape.Width)} {
		for _, y := range [2]float64{0, float64(shape.Height)} {
			a, b := at(x, y, m)
			if !(math.Abs(a) < 1<<15 && math.Abs(b) < 1<<15) {
				return false
			}
		}
	}
	return true
}

// at is the point of the input for a point of the output.
func at(x, y float64, m [6]float64) (float64, float64) {
	return float64(float64(m[0]*x)+float64(m[1]*y)) + m[2], float64(float64(m[3]*x)+float64(m[4]*y)) + m[5]
}

func nearestFixed(dst, src []uint8, shape pixel.Shape, m [6]float64) {
	fix := func(v float64) int32 { return int32(math.Floor(float64(v*(1<<16)) + 0.5)) }
	half := func(a, b, c float64) int32 { return fix(float64(c+float64(a*0.5)) + float64(b*0.5)) }
	a0, a1, a3, a4 := fix(m[0]), fix(m[1]), fix(m[3]), fix(m[4])
	startX, startY := half(m[0], m[1], m[2]), half(m[3], m[4], m[5])
	for y := range shape.Height {
		px, py := startX, startY
		for x := range shape.Width {
			place(dst, src, shape, x, y, int(px>>16), int(py>>16))
			px += a0
			py += a3
		}
		startX += a1
		startY += a4
	}
}

// nearest is for matrices without rotation and shear; Pillow adds the step of a pixel up.
func nearest(dst, src []uint8, shape pixel.Shape, m [6]float64) {
	half := func(a, b, c float64) float64 { return float64(c+float64(a*0.5)) + float64(b*0.5) }
	startX, startY := half(m[0], m[1], m[2]), half(m[3], m[4], m[5])
	for y := range shape.Height {
		px, py := startX, startY
		for x := range shape.Width {
			place(dst, src, shape, x, y, coordinate(px, shape.Width), coordinate(py, shape.Height))
			px += m[0]
			py += m[3]
		}
		startX += m[1]
		startY += m[4]
	}
}

// coordinate is the pixel that a point falls into, or -1 outside.
func coordinate(v float64, size int) int {
	if !(v >= 0 && v < float64(size)) {
		return -1
	}
	return int(v)
}

// place copies the pixel (fromX, fromY), or 0 where there is none.
func place(dst, src []uint8, shape pixel.Shape, x, y, fromX, fromY int) {
	c := shape.Channels
	to := dst[(y*shape.Width+x)*c:][:c]
	if fromX < 0 || fromX >= shape.Width || fromY < 0 || fromY >= shape.Height {
		clear(to)
		return
	}
	copy(to, src[(fromY*shape.Width+fromX)*c:][:c])
}

func bilinear(dst, src []uint8, shape pixel.Shape, m [6]float64) {
	w, h, c := shape.Width, shape.Height, shape.Channels
	for y := range h {
		row := dst[y*w*c : (y+1)*w*c]
		for x := range w {
			out := row[x*c : (x+1)*c]
			px, py := at(float64(x)+0.5, float64(y)+0.5, m)
			if !(px >= 0 && px < float64(w) && py >= 0 && py < float64(h)) {
				clear(out)
				continue
			}
			px -= 0.5
			py -= 0.5
			left, top := int(px+1)-1, int(py+1)-1 // rounded down: both are -0.5 at least
			dx, dy := px-float64(left), py-float64(top)
			x0, x1 := max(left, 0)*c, min(left+1, w-1)*c
			upper := src[max(top, 0)*w*c:][:w*c]
			a0, a1 := upper[x0:x0+c], upper[x1:x1+c]
			switch {
			case dy != 0 && top+1 < h:
				lower := src[(top+1)*w*c:][:w*c]
				b0, b1 := lower[x0:x0+c], lower[x1:x1+c]
				for k := range out {
					v1 := between(float64(a0[k]), float64(a1[k]), dx)
					v2 := between(float64(b0[k]), float64(b1[k]), dx)
					out[k] = uint8(between(v1, v2, dy))
				}
			case dx != 0:
				for k := range out {
					out[k] = uint8(between(float64(a0[k]), float64(a1[k]), dx))
				}
			default:
				copy(out, a0)
			}
		}
	}
}

func between(a, b, d float64) float64 { return a + float64((b-a)*d) }
