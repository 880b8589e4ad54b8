package raster

import (
	"math"

	"github.com/certspec/certspec/pixel"
)

// SplineCoefficients turns the samples of an image into the coefficients of the cubic B-spline that goes through them,
// mirrored about the outermost pixels (Unser 1999).
func SplineCoefficients(image []float64, shape pixel.Shape) {
	stride := shape.Width * shape.Channels
	for y := range shape.Height {
		for c := range shape.Channels {
			splineLine(image[y*stride+c:], shape.Width, shape.Channels)
		}
	}
	for x := range stride {
		splineLine(image[x:], shape.Height, stride)
	}
}

// splineLine does so for n samples that stand step apart.
func splineLine(v []float64, n, step int) {
	if n == 1 {
		return
	}
	const gain = 6
	pole := math.Sqrt(3) - 2
	first, power := v[0], pole
	for i := 1; i < n; i++ {
		first += float64(power * v[i*step])
		power = float64(power * pole)
	}
	// The mirrored line has the period 2n−2.
	for i := n - 2; i > 0; i-- {
		first += float64(power * v[i*step])
		power = float64(power * pole)
	}
	v[0] = first / (1 - power)
	for i := 1; i < n; i++ {
		v[i*step] += float64(pole * v[(i-1)*step])
	}
	last := v[(n-1)*step] + float64(pole*v[(n-2)*step])
	v[(n-1)*step] = last * (pole / (float64(pole*pole) - 1))
	for i := n - 2; i >= 0; i-- {
		v[i*step] = float64(pole * (v[(i+1)*step] - v[i*step]))
	}
	for i := range n {
		v[i*step] *= gain
	}
}

// SplineWeights are the cubic B-spline's at the four places around a point a fraction f beyond the second of them.
func SplineWeights(f float64) [4]float64 {
	g := 1 - f
	f2, g2 := float64(f*f), float64(g*g)
	return [4]float64{
		g2 * g / 6,
		2./3 - float64(0.5*float64(f2*(2-f))),
		2./3 - float64(0.5*float64(g2*(2-g))),
		f2 * f / 6,
	}
}
