package corrupt

import (
	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/pixel"
)

// gaussianKernel is the weights exp(−k²/2σ²) for |k| ≤ radius, of sum 1; a single 1 where σ is 0.
func gaussianKernel(sigma float64, radius int) []float64 {
	if sigma <= 0 {
		return []float64{1}
	}
	k := make([]float64, 2*radius+1)
	sum := 0.0
	for i := range k {
		d := float64(i-radius) / sigma
		k[i] = portable.Exp(-0.5 * float64(d*d))
		sum += k[i]
	}
	for i := range k {
		k[i] /= sum
	}
	return k
}

// smoother filters with the same kernel along rows and columns.
type smoother struct {
	shape  pixel.Shape
	kernel []float64
	border func(i, n int) int
	line   []float64 // a row or column with its borders
	middle []float64
}

// newSmoother makes a Gaussian filter that is cut off at truncate standard deviations.
func newSmoother(shape pixel.Shape, sigma, truncate float64, border func(i, n int) int) *smoother {
	kernel := gaussianKernel(sigma, int(float64(truncate*sigma)+0.5))
	return &smoother{
		shape:  shape,
		kernel: kernel,
		border: border,
		line: make([]float64, (max(shape.Height, shape.Width)+len(kernel))*max(shape.Channels,
			shape.Width*shape.Channels)),
		middle: make([]float64, shape.Len()),
	}
}

// apply filters the image in place.
func (s *smoother) apply(image []float64) {
	if len(s.kernel) == 1 {
		return
	}
	h, w, c := s.shape.Height, s.shape.Width, s.shape.Channels
	radius := len(s.kernel) / 2
	line := s.line[:(w+2*radius)*c]
	for y := range h {
		row := image[y*w*c : (y+1)*w*c]
		for x := range radius {
			copy(line[x*c:], row[s.border(x-radius, w)*c:][:c])
			copy(line[(radius+w+x)*c:], row[s.border(w+x, w)*c:][:c])
		}
		copy(line[radius*c:], row)
		s.correlate(s.middle[y*w*c:(y+1)*w*c], line, c)
	}
	stride := w * c
	tall := s.line[:(h+2*radius)*stride]
	for y := range radius {
		copy(tall[y*stride:], s.middle[s.border(y-radius, h)*stride:][:stride])
		copy(tall[(radius+h+y)*stride:], s.middle[s.border(h+y, h)*stride:][:stride])
	}
	copy(tall[radius*stride:], s.middle)
	s.correlate(image, tall, stride)
}

// correlate fills dst with the weighted sums of values that stand step apart in line.
func (s *smoother) correlate(dst, line []float64, step int) {
	weight := s.kernel[0]
	for i, v := range line[:len(dst)] {
		dst[i] = float64(weight * v)
	}
	for k, weight := range s.kernel[1:] {
		for i, v := range line[(k+1)*step:][:len(dst)] {
			dst[i] += float64(weight * v)
		}
	}
}

// tap is one weight of a filter that is not separable, and the place it looks at.
type tap struct {
	dy, dx int
	weight float64
}

// padded is an image with a margin on each side.
type padded struct {
	shape  pixel.Shape
	margin int
	values []float64
}

func newPadded(shape pixel.Shape, margin int) *padded {
	return &padded{shape, margin, make([]float64, (shape.Height+2*margin)*(shape.Width+2*margin)*shape.Channels)}
}

// fill copies the image and continues it over its borders.
func (p *padded) fill(image []float64, border func(i, n int) int) {
	h, w, c, m := p.shape.Height, p.shape.Width, p.shape.Channels, p.margin
	stride := (w + 2*m) * c
	for y := range h + 2*m {
		row := image[border(y-m, h)*w*c:][:w*c]
		to := p.values[y*stride:][:stride]
		copy(to[m*c:], row)
		for x := range m {
			copy(to[x*c:], row[border(x-m, w)*c:][:c])
			copy(to[(m+w+x)*c:], row[border(w+x, w)*c:][:c])
		}
	}
}

// correlate fills dst with the sum of the taps at each place.
func (p *padded) correlate(dst []float64, taps []tap) {
	h, w, c, m := p.shape.Height, p.shape.Width, p.shape.Channels, p.margin
	stride := (w + 2*m) * c
	clear(dst)
	for y := range h {
		out := dst[y*w*c:][:w*c]
		for _, t := range taps {
			from := p.values[(y+m+t.dy)*stride+(m+t.dx)*c:][:len(out)]
			for i, v := range from {
				out[i] += float64(t.weight * v)
			}
		}
	}
}
