package corrupt

import "github.com/certspec/certspec/corrupt/internal/raster"

// spatter lays drops over the image where smoothed normal noise is high: water (pale turquoise,
// bright at the edges of the drops) at severities 1 to 3, mud at 4 and 5. On grey images the
// colours are their luminances.
func spatter(j job) func() operator {
	c := [...]struct{ mean, deviation, sigma, threshold, strength float64 }{
		{.62, .1, .7, .7, .5}, {.65, .1, .8, .7, .5}, {.65, .3, 1, .69, .5}, {.65, .1, .7, .69, .6},
		{.65, .1, .5, .68, .6},
	}[j.Severity-1]
	mud := j.Severity >= 4
	colour := []float64{175. / 255, 238. / 255, 238. / 255}
	if mud {
		colour = []float64{63. / 255, 42. / 255, 20. / 255}
	}
	if j.shape.Channels == 1 {
		colour = []float64{luminance(colour[0], colour[1], colour[2])}
	}
	grey := j.shape
	grey.Channels = 1
	channels := j.shape.Channels
	return func() operator {
		smooth, edge := newSmoother(grey, j.pixels(c.sigma), 4, raster.Replicate),
			newSmoother(grey, j.pixels(c.strength), 4, raster.Replicate)
		layer := make([]float64, grey.Len())
		drops := newDrops(grey.Height, grey.Width)
		return func(dst, src []uint8, r *stream) {
			for i := range layer {
				layer[i] = c.mean + float64(c.deviation*r.normal())
			}
			smooth.apply(layer)
			if mud {
				for i, v := range layer {
					layer[i] = 0
					if v > c.threshold {
						layer[i] = 1
					}
				}
				edge.apply(layer)
			} else {
				for i, v := range layer {
					if v < c.threshold {
						v = 0
					}
					drops.layer[i] = truncated(v)
				}
				drops.light(layer)
			}
			for i, m := range layer {
				for k := range channels {
					x := unit[src[i*channels+k]]
					switch {
					case !mud:
						x += float64(float64(m*c.strength) * colour[k])
					case m >= 0.8:
						x = float64(x*(1-m)) + float64(m*colour[k])
					}
					dst[i*channels+k] = truncated(x)
				}
			}
		}
	}
}
