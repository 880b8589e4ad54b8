package corrupt

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
)

// ripple reads each coordinate p at p + A·sin(2πp/λ + φ), λ uniform from 3.2 to 9.6 pixels and φ
// uniform, drawn for each of the two coordinates; A = 0.44, 0.48, 0.52, 0.60, 0.64 pixels.
// Bilinear, 0 outside.
func ripple(j job) func() operator {
	amplitude := j.pixels([...]float64{.44, .48, .52, .60, .64}[j.Severity-1])
	shape := j.shape
	return func() operator {
		image := make([]float64, shape.Len())
		point := make([]float64, shape.Channels)
		wave := func(n int, r *stream) []float64 {
			length, phase := j.pixels(r.between(3.2, 9.6)), float64(2*math.Pi*r.uniform())
			places := make([]float64, n)
			for p := range places {
				sin, _ := portable.Sincos(2*math.Pi*float64(p)/length + phase)
				places[p] = float64(p) + float64(amplitude*sin)
			}
			return places
		}
		return func(dst, src []uint8, r *stream) {
			toUnits(image, src)
			rows, columns := wave(shape.Height, r), wave(shape.Width, r)
			for y, sy := range rows {
				for x, sx := range columns {
					bilinear(point, image, shape, sy, sx, nil)
					for c, v := range point {
						dst[(y*shape.Width+x)*shape.Channels+c] = truncated(v)
					}
				}
			}
		}
	}
}
