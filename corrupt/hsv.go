package corrupt

import "github.com/certspec/certspec/corrupt/internal/raster"

// inHSV changes the colour of every pixel.
func inHSV(change func(h, s, v float64) (float64, float64, float64)) func() operator {
	return func() operator {
		return func(dst, src []uint8, _ *stream) {
			for i := 0; i+2 < len(src); i += 3 {
				r, g, b := raster.FromHSV(change(raster.ToHSV(unit[src[i]], unit[src[i+1]], unit[src[i+2]])))
				dst[i], dst[i+1], dst[i+2] = truncated(r), truncated(g), truncated(b)
			}
		}
	}
}
