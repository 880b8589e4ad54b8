package corrupt

import "slices"

// fog adds c times a plasma fractal P in [0, 1] and brings the image back to its range: (x +
// cP)·M/(M + c), M its largest value; (c, decay) = (0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5,
// 1.75).
func fog(j job) func() operator {
	c := [...][2]float64{{.2, 3}, {.5, 3}, {.75, 2.5}, {1, 2}, {1.5, 1.75}}[j.Severity-1]
	return fogBy(j, c[0], c[1])
}

func fogBy(j job, density, decay float64) func() operator {
	side := published
	for side < max(j.shape.Height, j.shape.Width) {
		side *= 2
	}
	width, channels := j.shape.Width, j.shape.Channels
	return func() operator {
		plasma := make([]float64, side*side)
		return func(dst, src []uint8, r *stream) {
			drawPlasma(plasma, side, decay, r)
			most := unit[slices.Max(src)]
			factor := most / (most + density)
			if most == 0 {
				factor = 0
			}
			for i, b := range src {
				at := i / channels
				haze := float64(density * plasma[at/width*side+at%width])
				dst[i] = truncated((unit[b] + haze) * factor)
			}
		}
	}
}

// drawPlasma is a height map by the diamond-square algorithm on a torus of side×side points, a
// power of two, shifted and scaled to [0, 1]. A new point is the mean of four neighbours and
// w·U(−w, w), so that w counts twice; w begins at 100 and is divided by decay from level to level.
func drawPlasma(p []float64, side int, decay float64, r *stream) {
	const start = 100
	w := float64(start)
	p[0] = 0
	at := func(y, x int) float64 { return p[(y&(side-1))*side+x&(side-1)] }
	for step := side; step >= 2; step /= 2 {
		half := step / 2
		noise := func() float64 { return float64(w * r.between(-w, w)) }
		for y := half; y < side; y += step {
			for x := half; x < side; x += step {
				p[y*side+x] = (at(y-half, x-half)+at(y-half, x+half)+at(y+half, x-half)+at(y+half, x+half))/4 + noise()
			}
		}
		for y := 0; y < side; y += half {
			for x := (half - y%step + step) % step; x < side; x += step {
				p[y*side+x] = (at(y-half, x)+at(y+half, x)+at(y, x-half)+at(y, x+half))/4 + noise()
			}
		}
		w /= decay
	}
	low, high := slices.Min(p), slices.Max(p)
	for i := range p {
		p[i] = (p[i] - low) / (high - low)
	}
}
