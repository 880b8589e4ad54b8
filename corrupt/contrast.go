package corrupt

// contrast makes (x−μ)c + μ of each value, μ the mean of its channel over the image; c = 0.75, 0.5, 0.4, 0.3, 0.15.
func contrast(j job) func() operator {
	return contrastBy(j, [...]float64{.75, .5, .4, .3, .15}[j.Severity-1])
}

func contrastBy(j job, c float64) func() operator {
	channels := j.shape.Channels
	return func() operator {
		return func(dst, src []uint8, _ *stream) {
			for channel := range channels {
				sum := 0
				for i := channel; i < len(src); i += channels {
					sum += int(src[i])
				}
				mean := float64(sum) / (255 * float64(len(src)/channels))
				var table [256]uint8
				for b := range table {
					table[b] = truncated(float64((unit[b]-mean)*c) + mean)
				}
				for i := channel; i < len(src); i += channels {
					dst[i] = table[src[i]]
				}
			}
		}
	}
}
