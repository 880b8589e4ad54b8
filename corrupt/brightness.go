package corrupt

// brightness adds c to the value in HSV; c = 0.05, 0.1, 0.15, 0.2, 0.3. On a grey image that is the pixel itself.
func brightness(j job) func() operator {
	return brightnessBy(j, [...]float64{.05, .1, .15, .2, .3}[j.Severity-1])
}

func brightnessBy(j job, c float64) func() operator {
	if j.shape.Channels == 3 {
		return inHSV(func(h, s, v float64) (float64, float64, float64) { return h, s, min(v+c, 1) })
	}
	return func() operator {
		return func(dst, src []uint8, _ *stream) {
			for i, b := range src {
				dst[i] = truncated(unit[b] + c)
			}
		}
	}
}
