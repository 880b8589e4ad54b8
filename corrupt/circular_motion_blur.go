package corrupt

import (
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/internal/portable"
)

// circularMotionBlur is the mean of 21 rotations about the centre by −β … β, β = 4.2, 5.4, 6.6,
// 7.8, 9 degrees, of weights exp(−2t²) for t from −1 to 1, by cubic splines; 0 outside.
func circularMotionBlur(j job) func() operator {
	const turns = 21
	most := [...]float64{4.2, 5.4, 6.6, 7.8, 9}[j.Severity-1] * (math.Pi / 180)
	var cosines, sines, weights [turns]float64
	sum := 0.0
	for i := range turns {
		t := float64(i)/10 - 1
		sines[i], cosines[i] = portable.Sincos(t * most)
		weights[i] = portable.Exp(-2 * float64(t*t))
		sum += weights[i]
	}
	shape := j.shape
	cy, cx := float64(shape.Height-1)/2, float64(shape.Width-1)/2
	return func() operator {
		image := make([]float64, shape.Len())
		return func(dst, src []uint8, _ *stream) {
			toUnits(image, src)
			raster.SplineCoefficients(image, shape)
			for y := range shape.Height {
				for x := range shape.Width {
					var total [3]float64
					dy, dx := float64(y)-cy, float64(x)-cx
					for i := range turns {
						sy := float64(dy*cosines[i]) - float64(dx*sines[i]) + cy
						sx := float64(dy*sines[i]) + float64(dx*cosines[i]) + cx
						if sy < 0 || sx < 0 || sy > float64(shape.Height-1) || sx > float64(shape.Width-1) {
							continue
						}
						addSpline(&total, image, j, sy, sx, weights[i]/sum)
					}
					for c := range shape.Channels {
						dst[(y*shape.Width+x)*shape.Channels+c] = truncated(total[c])
					}
				}
			}
		}
	}
}

// addSpline adds a multiple of the spline at a point to the sums of the channels.
func addSpline(total *[3]float64, coefficients []float64, j job, y, x, factor float64) {
	top, left := int(y), int(x) // both are at least 0
	wy, wx := raster.SplineWeights(y-float64(top)), raster.SplineWeights(x-float64(left))
	for i := range 4 {
		row := raster.Reflect101(top+i-1, j.shape.Height) * j.shape.Width
		for k := range 4 {
			at := (row + raster.Reflect101(left+k-1, j.shape.Width)) * j.shape.Channels
			weight := float64(factor*wy[i]) * wx[k]
			for c, v := range coefficients[at : at+j.shape.Channels] {
				total[c] += float64(weight * v)
			}
		}
	}
}
