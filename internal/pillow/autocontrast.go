package pillow

import "github.com/certspec/certspec/pixel"

// AutoContrast stretches each channel linearly so that its least value becomes 0 and its
// greatest 255, rounding down; a channel of one value stays. It is ImageOps.autocontrast.
func AutoContrast(dst, src []uint8, shape pixel.Shape) {
	check(dst, src, shape)
	for channel := range shape.Channels {
		low, high := uint8(255), uint8(0)
		for i := channel; i < len(src); i += shape.Channels {
			low, high = min(low, src[i]), max(high, src[i])
		}
		var table [256]uint8
		scale, offset := 1.0, 0.0
		if high > low {
			scale = 255 / float64(high-low)
			offset = -float64(low) * scale
		}
		for v := range table {
			table[v] = uint8(min(max(int(float64(float64(v)*scale)+offset), 0), 255))
		}
		look(dst, src, channel, shape.Channels, &table)
	}
}
