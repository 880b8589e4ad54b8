package corrupt

import (
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
)

// defocusBlur correlates each channel with a disk of radius r, smoothed by a Gaussian of standard
// deviation a on 3×3 pixels (5×5 where r is above 8); (r, a) = (0.3, 0.4), (0.4, 0.5), (0.5, 0.6),
// (1, 0.2), (1.5, 0.1). The border is mirrored about the outermost pixels.
func defocusBlur(j job) func() operator {
	c := [...][2]float64{{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}}[j.Severity-1]
	taps, margin := diskKernel(j.pixels(c[0]), j.pixels(c[1]))
	return func() operator {
		image, canvas := make([]float64, j.shape.Len()), newPadded(j.shape, margin)
		return func(dst, src []uint8, _ *stream) {
			toUnits(image, src)
			canvas.fill(image, raster.Reflect101)
			canvas.correlate(image, taps)
			truncateAll(dst, image)
		}
	}
}

// diskKernel is a disk of sum 1, smoothed; its taps lie within margin pixels.
func diskKernel(radius, smooth float64) (taps []tap, margin int) {
	inner, reach := int(math.Floor(radius)), 1
	if radius > 8 {
		reach = 2
	}
	margin = inner + reach
	side := 2*margin + 1
	kernel := make([]float64, side*side)
	gauss := gaussianKernel(smooth, reach)
	inside, limit := 0.0, float64(radius*radius)
	for y := -inner; y <= inner; y++ {
		for x := -inner; x <= inner; x++ {
			if float64(x*x+y*y) > limit {
				continue
			}
			inside++
			for i, gy := range gauss {
				for k, gx := range gauss {
					kernel[(margin+y+i-reach)*side+margin+x+k-reach] += float64(gy * gx)
				}
			}
		}
	}
	for i, weight := range kernel {
		if weight > 0 {
			taps = append(taps, tap{i/side - margin, i%side - margin, weight / inside})
		}
	}
	return taps, margin
}
