package corrupt

import "github.com/certspec/certspec/corrupt/internal/raster"

// brownishNoise adds a field of amplitude 1/(f² + 1) and standard deviation 16, 25.6, 35.2, 41.6,
// 44.8 bytes, independent for each channel.
func brownishNoise(j job) func() operator {
	strength := [...]float64{16, 25.6, 35.2, 41.6, 44.8}[j.Severity-1]
	channels := j.shape.Channels
	return func() operator {
		brown := raster.NewField(j.shape, func(f float64) float64 { return 1 / (float64(f*f) + 1) })
		noise := make([]float64, j.shape.Height*j.shape.Width)
		return func(dst, src []uint8, r *stream) {
			for c := range channels {
				brown.Draw(noise, r.uniform)
				for i, v := range noise {
					at := i*channels + c
					dst[at] = truncatedSteps(float64(src[at]) + float64(strength*v))
				}
			}
		}
	}
}
