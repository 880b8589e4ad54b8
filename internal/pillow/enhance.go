package pillow

import (
	"fmt"

	"github.com/certspec/certspec/pixel"
)

// Brightness blends black and the image: 0 is black, 1 the image. It is ImageEnhance.Brightness.
func Brightness(dst, src []uint8, shape pixel.Shape, factor float64) {
	check(dst, src, shape)
	f := float32(factor)
	for i, v := range src {
		dst[i] = blend(0, v, f)
	}
}

// Color blends the grey version of the image and the image: 0 is grey, 1 the image, more is more
// colourful. A grey image stays. It is ImageEnhance.Color. It panics for other channels than 1 or 3.
func Color(dst, src []uint8, shape pixel.Shape, factor float64) {
	check(dst, src, shape)
	if shape.Channels == 1 {
		copy(dst, src)
		return
	}
	f := float32(factor)
	for i := 0; i < len(src); i += 3 {
		grey := luma(src[i:], shape)
		for j := i; j < i+3; j++ {
			dst[j] = blend(grey, src[j], f)
		}
	}
}

// Contrast blends an image of one grey, the rounded mean of the grey version, and the image. It is
// ImageEnhance.Contrast. It panics for other channels than 1 or 3.
func Contrast(dst, src []uint8, shape pixel.Shape, factor float64) {
	check(dst, src, shape)
	sum := 0
	for i := 0; i < len(src); i += shape.Channels {
		sum += int(luma(src[i:], shape))
	}
	mean := uint8(float64(sum)/float64(shape.Height*shape.Width) + 0.5)
	f := float32(factor)
	for i, v := range src {
		dst[i] = blend(mean, v, f)
	}
}

// Sharpness blends a smoothed version of the image and the image. The smoothed version is the
// rounded mean of 3×3 pixels, of which the middle one counts five times; pixels on the edge of the
// image are not smoothed. It is ImageEnhance.Sharpness.
func Sharpness(dst, src []uint8, shape pixel.Shape, factor float64) {
	check(dst, src, shape)
	f := float32(factor)
	copy(dst, src)
	row, c := shape.Width*shape.Channels, shape.Channels
	for y := 1; y < shape.Height-1; y++ {
		above, here, below := src[(y-1)*row:y*row], src[y*row:(y+1)*row], src[(y+1)*row:(y+2)*row]
		out := dst[y*row : (y+1)*row]
		for x := c; x < row-c; x++ {
			sum := int(above[x-c]) + int(above[x]) + int(above[x+c]) + int(here[x-c]) + 5*int(here[x]) +
				int(here[x+c]) +
				int(below[x-c]) + int(below[x]) + int(below[x+c])
			out[x] = blend(uint8((2*sum+13)/26), here[x], f)
		}
	}
}

// luma is the grey value of a pixel, (19595 R + 38470 G + 7471 B)/2¹⁶ rounded: ITU-R 601.
func luma(p []uint8, shape pixel.Shape) uint8 {
	switch shape.Channels {
	case 1:
		return p[0]
	case 3:
		return uint8((19595*uint32(p[0]) + 38470*uint32(p[1]) + 7471*uint32(p[2]) + 1<<15) >> 16)
	}
	panic(fmt.Sprintf("pillow: the grey of %d channels", shape.Channels))
}

// blend is a + f(b−a) in float32, clipped and rounded down: Image.blend.
func blend(a, b uint8, f float32) uint8 {
	v := float32(a) + float32(f*float32(int(b)-int(a)))
	switch {
	case !(v > 0):
		return 0
	case v >= 255:
		return 255
	}
	return uint8(v)
}
