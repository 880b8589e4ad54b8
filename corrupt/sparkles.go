package corrupt

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/pixel"
)

// sparkles draws five white stars with rays of a length about 0.224, 1.12, 1.792, 2.016, 2.24 pixels, at least 1.
func sparkles(j job) func() operator {
	radius := j.pixels([...]float64{.224, 1.12, 1.792, 2.016, 2.24}[j.Severity-1])
	shape := j.shape
	return func() operator {
		image := make([]float64, shape.Len())
		var s star
		return func(dst, src []uint8, r *stream) {
			for i, b := range src {
				image[i] = float64(b)
			}
			for range 5 {
				s.draw(r, r.between(0, float64(shape.Height)), r.between(0, float64(shape.Width)), func() float64 {
					return max(1, radius+float64(0.25*float64(radius*r.normal())))
				})
				s.light(shape, func(i int, w float64) {
					for c := i * shape.Channels; c < (i+1)*shape.Channels; c++ {
						image[c] += float64(w * (255 - image[c]))
					}
				}, 1)
			}
			for i, v := range image {
				dst[i] = truncatedSteps(v)
			}
		}
	}
}

// inverseSparkles makes white what lies outside of one star: its rays have a length N(8, 2²), and
// the light within falls off with the exponent 0.13, 0.195, 0.325, 0.585, 0.65. The centre lies in
// the middle half of the image.
func inverseSparkles(j job) func() operator {
	exponent := [...]float64{.13, .195, .325, .585, .65}[j.Severity-1]
	shape := j.shape
	return func() operator {
		var s star
		return func(dst, src []uint8, r *stream) {
			s.draw(r, float64(float64(shape.Height)*r.between(.25, .75)),
				float64(float64(shape.Width)*r.between(.25, .75)), func() float64 {
					return j.pixels(8 + float64(2*r.normal()))
				})
			s.light(shape, func(i int, w float64) {
				for c := i * shape.Channels; c < (i+1)*shape.Channels; c++ {
					dst[c] = truncatedSteps(255 + float64(w*(float64(src[c])-255)))
				}
			}, exponent)
		}
	}
}

// star is rays of different lengths around a centre.
type star struct {
	y, x    float64
	lengths []float64
}

// draw gives the star 50 to 199 rays.
func (s *star) draw(r *stream, y, x float64, length func() float64) {
	s.y, s.x = y, x
	s.lengths = s.lengths[:0]
	for range 50 + r.below(150) {
		s.lengths = append(s.lengths, length())
	}
}

// light calls put for each pixel with clip((1 − (φ − ½)²)(L²/(d² + 10⁻⁴))ᵉ, 0, 1): d is the
// distance to the centre, φ the place between two rays, L the length of rays there.
func (s *star) light(shape pixel.Shape, put func(i int, w float64), exponent float64) {
	n := len(s.lengths)
	for y := range shape.Height {
		for x := range shape.Width {
			dy, dx := float64(y)-s.y, float64(x)-s.x
			at := (portable.Atan2(dx, dy) + math.Pi) * float64(n) / (2 * math.Pi)
			ray := int(at)
			f := at - float64(ray)
			a, b := s.lengths[ray%n], s.lengths[(ray+1)%n]
			length := a + float64(f*(b-a))
			ratio := float64(length*length) / (float64(dy*dy) + float64(dx*dx) + 1e-4)
			if exponent != 1 {
				ratio = portable.Pow(ratio, exponent)
			}
			f -= 0.5
			put(y*shape.Width+x, min(max((1-float64(f*f))*ratio, 0), 1))
		}
	}
}
