package corrupt

import "github.com/certspec/certspec/corrupt/internal/raster"

// blueNoiseSample sets pixels to black where a field of blue noise (amplitude in proportion to the
// frequency, standard deviation 1) is at most 0.3q − 2.5; q = 0.7, 1.4, 2.1, 3.5, 4.2.
func blueNoiseSample(j job) func() operator {
	threshold := [...]float64{-2.29, -2.08, -1.87, -1.45, -1.24}[j.Severity-1]
	channels := j.shape.Channels
	return func() operator {
		blue := raster.NewField(j.shape, func(f float64) float64 { return f })
		noise := make([]float64, j.shape.Height*j.shape.Width)
		return func(dst, src []uint8, r *stream) {
			blue.Draw(noise, r.uniform)
			copy(dst, src)
			for i, v := range noise {
				if v <= threshold {
					clear(dst[i*channels:][:channels])
				}
			}
		}
	}
}
