package corrupt

import "github.com/certspec/certspec/corrupt/internal/raster"

// gaussianBlur filters with a Gaussian of standard deviation 0.4, 0.6, 0.7, 0.8, 1 pixels, edges repeated.
func gaussianBlur(j job) func() operator {
	sigma := j.pixels([...]float64{.4, .6, .7, .8, 1}[j.Severity-1])
	return func() operator {
		blur := newSmoother(j.shape, sigma, 4, raster.Replicate)
		image := make([]float64, j.shape.Len())
		return func(dst, src []uint8, _ *stream) {
			toUnits(image, src)
			blur.apply(image)
			truncateAll(dst, image)
		}
	}
}
