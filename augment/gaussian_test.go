package augment

import (
	"math"
	"testing"

	"github.com/certspec/certspec/pixel"
)

// Half of the images get noise of the deviation asked for, clipped; the others stay. All bounds are five standard errors.
func TestGaussianLaw(t *testing.T) {
	shape := pixel.Shape{Height: 10, Width: 10, Channels: 1}
	for text, want := range map[string]struct{ sigma, share float64 }{
		"gaussian": {0.1, 0.5}, "gaussian(sigma=0.02,share=0.25)": {0.02, 0.25}, "gaussian(share=1)": {0.1, 1},
	} {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		const images = 2000
		noisy, sum, squares := 0, 0., 0.
		for i := range uint64(images) {
			im := Image{shape, make([]float32, shape.Len())}
			for j := range im.Values {
				im.Values[j] = 0.5
			}
			im.Values[0], im.Values[1] = 0, 1
			if err := a.Apply(im, NewStream(Address{Seed: 7, Image: i})); err != nil {
				t.Fatal(err)
			}
			if im.Values[2] == 0.5 && im.Values[3] == 0.5 {
				if im.Values[0] != 0 || im.Values[1] != 1 {
					t.Fatal("an image without noise changed")
				}
				continue
			}
			noisy++
			for j, v := range im.Values {
				if v < 0 || v > 1 {
					t.Fatalf("value %v", v)
				}
				if j > 1 {
					sum += float64(v) - 0.5
					squares += (float64(v) - 0.5) * (float64(v) - 0.5)
				}
			}
		}
		n := float64(noisy * (shape.Len() - 2))
		if d := float64(noisy)/images - want.share; math.Abs(d) > 5*math.Sqrt(want.share*(1-want.share)/images) {
			t.Errorf("%s: %d of %d images with noise", text, noisy, images)
		}
		if math.Abs(sum/n) > 5*want.sigma/math.Sqrt(n) || math.Abs(math.Sqrt(squares/n)/want.sigma-1) > 5/math.Sqrt(2*n) {
			t.Errorf("%s: mean %g, deviation %g", text, sum/n, math.Sqrt(squares/n))
		}
	}
}
