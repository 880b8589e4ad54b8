package corrupt

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
)

// pinchAndTwirl distorts the discs inside blocks of 10×10 pixels: a point at ρ·5 pixels from the
// block's centre is read at sin(πρ/2)^−amount times the distance, turned by ±angle·(1−ρ)²; angle =
// (π/2)(q/10) and amount = 0.04q + 0.1 for q = 5.5, 6, 6.5, 8.5, 10. Bilinear, 0 outside.
func pinchAndTwirl(j job) func() operator {
	q := [...]float64{5.5, 6, 6.5, 8.5, 10}[j.Severity-1]
	angle, amount := math.Pi/20*q, float64(.04*q)+.1
	shape := j.shape
	block := int(math.RoundToEven(j.pixels(10)))
	radius := float64(block) / 2
	return func() operator {
		image, before := make([]float64, shape.Len()), make([]float64, shape.Len())
		return func(dst, src []uint8, r *stream) {
			for i, b := range src {
				image[i] = float64(b)
			}
			for top := 0; top+block <= shape.Height; top += block {
				for left := 0; left+block <= shape.Width; left += block {
					copy(before, image) // blocks read what their neighbours have become
					cy, cx := float64(top)+radius, float64(left)+radius
					twist := angle * r.sign()
					for y := top; y < top+block; y++ {
						for x := left; x < left+block; x++ {
							dy, dx := float64(y)-cy, float64(x)-cx
							rho := math.Sqrt(float64(dy*dy)+float64(dx*dx)) / radius
							if rho > 1 || rho == 0 {
								continue
							}
							sine, _ := portable.Sincos(math.Pi / 2 * rho)
							pinch := 1 / portable.Pow(sine, amount)
							sin, cos := portable.Sincos(float64(twist*(1-rho)) * (1 - rho))
							sy := cy + float64(pinch*(float64(dy*cos)+float64(dx*sin)))
							sx := cx + float64(pinch*(float64(dx*cos)-float64(dy*sin)))
							bilinear(image[(y*shape.Width+x)*shape.Channels:][:shape.Channels], before, shape, sy, sx,
								nil)
						}
					}
				}
			}
			for i, v := range image {
				dst[i] = truncatedSteps(v)
			}
		}
	}
}
