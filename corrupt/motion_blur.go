package corrupt

import (
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/pixel"
)

// motionBlur averages along a random direction of −45° to 45°, to one side; (r, s) = (6, 1), (6,
// 1.5), (6, 2), (8, 2), (9, 2.5).
func motionBlur(j job) func() operator {
	c := [...][2]float64{{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}}[j.Severity-1]
	weights := motionKernel(j.pixels(c[0]), j.pixels(c[1]))
	return func() operator {
		trail := newTrail(j.shape, weights)
		image := make([]float64, j.shape.Len())
		return func(dst, src []uint8, r *stream) {
			for i, b := range src {
				image[i] = float64(b)
			}
			trail.apply(dst, image, r.between(-45, 45))
		}
	}
}

// motionKernel is the weights exp(−i²/2s²), i = 0 … 2r, of sum 1.
func motionKernel(radius, sigma float64) []float64 {
	length := 2*int(math.RoundToEven(radius)) + 1
	k := gaussianKernel(sigma, length-1)[length-1:]
	sum := 0.0
	for _, w := range k {
		sum += w
	}
	for i := range k {
		k[i] /= sum
	}
	return k
}

// trail is the blur along a line of ImageMagick.
type trail struct {
	weights []float64
	taps    []tap
	canvas  *padded
	out     []float64
}

func newTrail(shape pixel.Shape, weights []float64) *trail {
	return &trail{weights, make([]tap, len(weights)), newPadded(shape, len(weights)), make([]float64, shape.Len())}
}

// apply fills dst with Σᵢ kᵢ·image[row + ⌈i·sin θ − ½⌉, column + ⌈i·cos θ − ½⌉], rounded to bytes, with edges
// repeated; the image is on the scale of bytes.
func (t *trail) apply(dst []uint8, image []float64, degrees float64) {
	sin, cos := portable.Sincos(degrees * (math.Pi / 180))
	for i, w := range t.weights {
		t.taps[i] = tap{motionOffset(i, sin), motionOffset(i, cos), w}
	}
	t.canvas.fill(image, raster.Replicate)
	t.canvas.correlate(t.out, t.taps)
	for i, v := range t.out {
		dst[i] = truncatedSteps(v + 0.5)
	}
}

func motionOffset(i int, along float64) int {
	return int(math.Ceil(float64(float64(i)*along) - 0.5))
}
