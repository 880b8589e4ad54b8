package corrupt

import (
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
)

// glassBlur blurs with a Gaussian of standard deviation s (edges repeated, bytes cut off),
// displaces pixels by up to d in a number of passes from the lower right to the upper left, and
// blurs again; (s, d, passes) = (0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2).
// Each step draws dx and dy from −d … d−1. The published data come from a program that meant to
// exchange the pixel with the one at (dy, dx) from it, and copies that one instead, which is the
// default here.
func glassBlur(j job) func() operator {
	c := [...]struct {
		sigma  float64
		passes int
	}{{.05, 1}, {.25, 1}, {.4, 1}, {.25, 2}, {.4, 2}}[j.Severity-1]
	reach := int(math.RoundToEven(j.pixels(1)))
	height, width, channels := j.shape.Height, j.shape.Width, j.shape.Channels
	return func() operator {
		blur := newSmoother(j.shape, j.pixels(c.sigma), 4, raster.Replicate)
		image := make([]float64, j.shape.Len())
		return func(dst, src []uint8, r *stream) {
			toUnits(image, src)
			blur.apply(image)
			truncateAll(dst, image)
			for range c.passes {
				for y := height - reach; y > reach; y-- {
					for x := width - reach; x > reach; x-- {
						dx, dy := r.below(2*reach)-reach, r.below(2*reach)-reach
						here := dst[(y*width+x)*channels:][:channels]
						there := dst[((y+dy)*width+x+dx)*channels:][:channels]
						for i, v := range there {
							if j.GlassSwap {
								there[i] = here[i]
							}
							here[i] = v
						}
					}
				}
			}
			toUnits(image, dst)
			blur.apply(image)
			truncateAll(dst, image)
		}
	}
}
