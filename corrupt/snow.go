package corrupt

// snow draws a layer of normal noise N(μ, ς²), enlarged by z, kept where it is at least τ, blurred
// along a direction of −135° to −45° (r, s) as motionBlur does. The image becomes m·x +
// (1−m)·max(x, 1.5·grey + 0.5), plus the layer and the layer turned by 180°.
func snow(j job) func() operator {
	c := [...]struct{ mean, deviation, zoom, threshold, radius, sigma, mix float64 }{
		{.1, .2, 1, .6, 8, 3, .95}, {.1, .2, 1, .5, 10, 4, .9}, {.15, .3, 1.75, .55, 10, 4, .9}, {.25, .3, 2.25, .6, 12,
			6, .85}, {.3, .3, 1.25, .65, 14, 12, .8},
	}[j.Severity-1]
	weights := motionKernel(j.pixels(c.radius), j.pixels(c.sigma))
	rows, columns := newZoom(j.shape.Height, c.zoom), newZoom(j.shape.Width, c.zoom)
	grey := j.shape
	grey.Channels = 1
	channels := j.shape.Channels
	return func() operator {
		trail := newTrail(grey, weights)
		noise, layer, flakes := make([]float64, grey.Len()), make([]float64, grey.Len()), make([]uint8, grey.Len())
		return func(dst, src []uint8, r *stream) {
			for i := range noise {
				noise[i] = c.mean + float64(c.deviation*r.normal())
			}
			clear(layer)
			enlarge(layer, noise, rows, columns, grey.Width, 1)
			for i, v := range layer {
				if v < c.threshold {
					v = 0
				}
				layer[i] = float64(truncated(v))
			}
			trail.apply(flakes, layer, r.between(-135, -45))
			for i, flake := range flakes {
				fall := unit[flake] + unit[flakes[len(flakes)-1-i]]
				from, to := src[i*channels:][:channels], dst[i*channels:][:channels]
				light := unit[from[0]]
				if channels == 3 {
					light = luminance(unit[from[0]], unit[from[1]], unit[from[2]])
				}
				white := float64(light*1.5) + 0.5
				for k, b := range from {
					x := unit[b]
					to[k] = truncated(float64(c.mix*x) + float64((1-c.mix)*max(x, white)) + fall)
				}
			}
		}
	}
}
