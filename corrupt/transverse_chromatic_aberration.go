package corrupt

import (
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
)

// transverseChromaticAberration enlarges the three channels by 1, 1 + 0.025q and 1 + 0.05q in a
// random order and keeps the middle; q = 1, 2, 5, 9, 10. It weighs pixels as a cubic B-spline does,
// without the filter that would make it go through them, so that every channel is smoothed.
func transverseChromaticAberration(j job) func() operator {
	q := [...]float64{1, 2, 5, 9, 10}[j.Severity-1]
	shape := j.shape
	type axis struct {
		at     [][4]int
		weight [][4]float64
	}
	along := func(n int, zoom float64) axis {
		a := axis{make([][4]int, n), make([][4]float64, n)}
		large := int(math.RoundToEven(float64(n) * zoom))
		first := (large - n) / 2
		for i := range n {
			place := float64(i+first) * float64(n-1) / float64(large-1)
			whole := int(place)
			a.weight[i] = raster.SplineWeights(place - float64(whole))
			for k := range 4 {
				a.at[i][k] = raster.Reflect101(whole+k-1, n)
			}
		}
		return a
	}
	var rows, columns [3]axis
	for i := range 3 {
		zoom := 1 + float64(.025*q*float64(i))
		rows[i], columns[i] = along(shape.Height, zoom), along(shape.Width, zoom)
	}
	return func() operator {
		between := make([]float64, shape.Height*shape.Width)
		return func(dst, src []uint8, r *stream) {
			order := [3]int{0, 1, 2}
			for i := 2; i > 0; i-- {
				k := r.below(i + 1)
				order[i], order[k] = order[k], order[i]
			}
			for c, which := range order {
				for y := range shape.Height {
					for x, at := range columns[which].at {
						sum := 0.0
						for k, w := range columns[which].weight[x] {
							sum += float64(w * float64(src[(y*shape.Width+at[k])*3+c]))
						}
						between[y*shape.Width+x] = sum
					}
				}
				for y, at := range rows[which].at {
					w := rows[which].weight[y]
					for x := range shape.Width {
						sum := 0.0
						for k := range 4 {
							sum += float64(w[k] * between[at[k]*shape.Width+x])
						}
						dst[(y*shape.Width+x)*3+c] = truncatedSteps(sum + 0.5)
					}
				}
			}
		}
	}
}
