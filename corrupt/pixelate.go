package corrupt

import "github.com/certspec/certspec/internal/picture"

// pixelate reduces the image to a part c of each side with a box filter and enlarges it again, as Pillow does, in bytes; c = 0.95, 0.9, 0.85, 0.75, 0.65.
func pixelate(j job) func() operator {
	c := [...]float64{.95, .9, .85, .75, .65}[j.Severity-1]
	height, width := int(float64(j.shape.Height)*c), int(float64(j.shape.Width)*c)
	reduce := picture.NewResizer(j.shape, height, width, "box")
	channels := j.shape.Channels
	return func() operator {
		return func(dst, src []uint8, _ *stream) {
			small := reduce(picture.Image{Pixels: src, Shape: j.shape}).Pixels
			// A box filter that enlarges takes the pixel in which the new one's centre lies.
			for y := range j.shape.Height {
				row := small[(2*y+1)*height/(2*j.shape.Height)*width*channels:]
				for x := range j.shape.Width {
					at := (2*x + 1) * width / (2 * j.shape.Width) * channels
					for c := range channels {
						dst[c] = row[at+c]
					}
					dst = dst[channels:]
				}
			}
		}
	}
}
