package corrupt

import "github.com/certspec/certspec/internal/picture"

// pixelate reduces the image to a part c of each side with a box filter and enlarges it again, as Pillow does, in bytes; c = 0.95, 0.9, 0.85, 0.75, 0.65.
func pixelate(j job) func() operator {
	c := [...]float64{.95, .9, .85, .75, .65}[j.Severity-1]
	height, width := int(float64(j.shape.Height)*c), int(float64(j.shape.Width)*c)
	return func() operator {
		return func(dst, src []uint8, _ *stream) {
			small := picture.Resize(picture.Image{Pixels: src, Shape: j.shape}, height, width, "box")
			copy(dst, picture.Resize(small, j.shape.Height, j.shape.Width, "box").Pixels)
		}
	}
}
