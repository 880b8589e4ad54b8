package pillow

import (
	"math"
	"strconv"

	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/pixel"
)

// Rotate turns the image about its middle, counterclockwise, by an angle in degrees; what comes
// from outside is 0. It is Image.rotate.
func Rotate(dst, src []uint8, shape pixel.Shape, degrees float64, filter Filter) {
	check(dst, src, shape)
	degrees = math.Mod(degrees, 360)
	if degrees < 0 {
		degrees += 360
	}
	h, w := shape.Height, shape.Width
	turn := func(from func(y, x int) (int, int)) {
		for y := range h {
			for x := range w {
				fromY, fromX := from(y, x)
				place(dst, src, shape, x, y, fromX, fromY)
			}
		}
	}
	switch {
	case degrees == 0:
		copy(dst, src)
	case degrees == 180:
		turn(func(y, x int) (int, int) { return h - 1 - y, w - 1 - x })
	case degrees == 90 && h == w:
		turn(func(y, x int) (int, int) { return x, w - 1 - y })
	case degrees == 270 && h == w:
		turn(func(y, x int) (int, int) { return h - 1 - x, y })
	default:
		Affine(dst, src, shape, rotation(degrees, float64(w)/2, float64(h)/2), filter)
	}
}

// rotation is the matrix from output to input, with its entries rounded to 15 decimals as Pillow does.
func rotation(degrees, centreX, centreY float64) [6]float64 {
	sin, cos := portable.Sincos(-degrees * (math.Pi / 180))
	sin, cos = decimals(sin), decimals(cos)
	m := [6]float64{cos, sin, 0, -sin, cos, 0}
	x, y := at(-centreX, -centreY, m)
	m[2], m[5] = x+centreX, y+centreY
	return m
}

// decimals rounds to 15 decimals.
func decimals(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 15, 64), 64) // always parses
	return rounded
}
