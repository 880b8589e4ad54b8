package picture

import (
	"math"

	"github.com/certspec/certspec/pixel"
)

// Filters are the names that Resize knows.
var Filters = []string{"nearest", "box", "bilinear", "bicubic", "lanczos"}

// kernel is a function of the distance to the centre, in pixels of the smaller of the
// two images, and the distance from which on it is 0.
type kernel struct {
	support float64
	weight  func(x float64) float64
}

var kernels = map[string]kernel{
	"box": {0.5, func(x float64) float64 {
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	}},
	"bilinear": {1, func(x float64) float64 { return max(0, 1-math.Abs(x)) }},
	"bicubic": {2, func(x float64) float64 { // the cubic convolution of Keys (1981), with a = −1/2
		const a = -0.5
		x = math.Abs(x)
		switch {
		case x < 1:
			return float64(float64((float64((a+2)*x)-(a+3))*x)*x) + 1
		case x < 2:
			return (float64((float64((x-5)*x)+8)*x) - 4) * a
		}
		return 0
	}},
	"lanczos": {3, func(x float64) float64 {
		if x < -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}},
}

// sinc is sin(πx)/(πx).
func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// Resize scales an image to height × width pixels as Image.resize of Pillow 3.3 to 12 does, value
// for value: widths first, then heights, with weights rounded to multiples of 2⁻²² and a
// result rounded and clipped to bytes after each pass. (Pillow 13 takes heights first where
// that is less work, which gives other roundings.) A filter widens with the scale
// where the image shrinks, so that every pixel counts (antialiasing); nearest does not.
// It panics where the filter is none of Filters or the size is not positive.
func Resize(im Image, height, width int, filter string) Image {
	return NewResizer(im.Shape, height, width, filter)(im)
}

// NewResizer prepares Resize for many images of one shape.
func NewResizer(shape pixel.Shape, height, width int, filter string) func(Image) Image {
	if height < 1 || width < 1 {
		panic("picture: resize to no pixels")
	}
	if shape.Height == height && shape.Width == width {
		return func(im Image) Image { return im }
	}
	if filter == "nearest" {
		return func(im Image) Image { return nearest(im, height, width) }
	}
	k, ok := kernels[filter]
	if !ok {
		panic("picture: no such filter: " + filter)
	}
	var columns, rows []taps // nil where a side stays
	if width != shape.Width {
		columns = k.taps(shape.Width, width)
	}
	if height != shape.Height {
		rows = k.taps(shape.Height, height)
	}
	return func(im Image) Image { return filtered(im, columns, rows) }
}

func filtered(im Image, columns, rows []taps) Image {
	channels := im.Shape.Channels
	if columns != nil {
		width := len(columns)
		out := blank(pixel.Shape{Height: im.Shape.Height, Width: width, Channels: channels})
		for y := range im.Shape.Height {
			from := im.Pixels[y*im.Shape.Width*channels:]
			to := out.Pixels[y*width*channels:]
			for x := range columns {
				for c := range channels {
					to[x*channels+c] = columns[x].sum(from[c:], channels)
				}
			}
		}
		im = out
	}
	if rows != nil {
		width := im.Shape.Width
		out := blank(pixel.Shape{Height: len(rows), Width: width, Channels: channels})
		row := width * channels
		for y, t := range rows {
			for x := range row {
				out.Pixels[y*row+x] = t.sum(im.Pixels[x:], row)
			}
		}
		im = out
	}
	return im
}

// taps are the pixels from first on that make one pixel, and their weights in multiples of 2⁻²².
type taps struct {
	first   int
	weights []int32
}

const precision = 22

// sum weighs values that stand stride apart.
func (t taps) sum(values []uint8, stride int) uint8 {
	s := int64(1) << (precision - 1)
	at := t.first * stride
	for _, w := range t.weights {
		s += int64(w) * int64(values[at])
		at += stride
	}
	return uint8(min(max(s>>precision, 0), 255))
}

// taps gives those of each pixel of a line of the given new length. Conversions to
// float64 keep a compiler from fusing operations, which would round otherwise than Pillow.
func (k kernel) taps(from, to int) []taps {
	scale := float64(from) / float64(to)
	stretch := max(scale, 1)
	support := k.support * stretch
	list := make([]taps, to)
	weights := make([]float64, 0, from)
	for i := range list {
		center := float64((float64(i) + 0.5) * scale)
		first := max(0, int(center-support+0.5))
		last := min(from, int(center+support+0.5))
		weights = weights[:0]
		total := 0.0
		for j := first; j < last; j++ {
			w := k.weight((float64(j) - center + 0.5) * (1 / stretch))
			weights = append(weights, w)
			total += w
		}
		list[i] = taps{first, make([]int32, len(weights))}
		for j, w := range weights {
			if total != 0 {
				w /= total
			}
			list[i].weights[j] = int32(math.Copysign(0.5, w) + float64(w*(1<<precision)))
		}
	}
	return list
}

func nearest(im Image, height, width int) Image {
	// Pillow adds up the positions, and rounding can move one across a pixel's edge.
	positions := func(from, to int) []int {
		step := float64(from) / float64(to)
		list := make([]int, to)
		at := float64(step * 0.5)
		for i := range list {
			list[i] = min(int(at), from-1)
			at += step
		}
		return list
	}
	columns := positions(im.Shape.Width, width)
	channels := im.Shape.Channels
	out := blank(pixel.Shape{Height: height, Width: width, Channels: channels})
	to := out.Pixels
	for _, y := range positions(im.Shape.Height, height) {
		for _, x := range columns {
			at := (y*im.Shape.Width + x) * channels
			to = to[copy(to, im.Pixels[at:at+channels]):]
		}
	}
	return out
}

// Cover is the size that an image of height × width pixels gets where its shorter side is
// made side pixels long and the longer keeps the ratio, cut to whole pixels, as by Resize of torchvision.
func Cover(height, width, side int) (int, int) {
	if height <= width {
		return side, side * width / height
	}
	return side * height / width, side
}

// Crop cuts height × width pixels from the centre, as CenterCrop of torchvision does: where the margin is
// odd, its half is rounded to even. It panics where the image is smaller.
func Crop(im Image, height, width int) Image {
	if height > im.Shape.Height || width > im.Shape.Width {
		panic("picture: crop from a smaller image")
	}
	half := func(margin int) int { return int(math.RoundToEven(float64(margin) / 2)) }
	top, left := half(im.Shape.Height-height), half(im.Shape.Width-width)
	out := blank(pixel.Shape{Height: height, Width: width, Channels: im.Shape.Channels})
	row := width * im.Shape.Channels
	for y := range height {
		at := ((top+y)*im.Shape.Width + left) * im.Shape.Channels
		copy(out.Pixels[y*row:], im.Pixels[at:at+row])
	}
	return out
}

func blank(shape pixel.Shape) Image { return Image{make([]uint8, shape.Len()), shape} }
