package pillow

import "github.com/certspec/certspec/pixel"

// Equalize flattens the histogram h of each channel. With q = ⌊(pixels − count of the greatest value
// that occurs)/255⌋, value v becomes ⌊(⌊q/2⌋ + Σ_{j<v} h_j)/q⌋, at most 255; where q = 0
// the channel stays. It is ImageOps.equalize.
func Equalize(dst, src []uint8, shape pixel.Shape) {
	check(dst, src, shape)
	for channel := range shape.Channels {
		counts := histogram(src, channel, shape.Channels)
		last := 255
		for last > 0 && counts[last] == 0 {
			last--
		}
		step := (shape.Height*shape.Width - counts[last]) / 255
		var table [256]uint8
		below := step / 2
		for v := range table {
			table[v] = uint8(v)
			if step > 0 {
				table[v] = uint8(min(below/step, 255))
				below += counts[v]
			}
		}
		look(dst, src, channel, shape.Channels, &table)
	}
}
