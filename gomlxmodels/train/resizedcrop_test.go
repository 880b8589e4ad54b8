package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/internal/picture"
	"github.com/certspec/certspec/pixel"
)

// Parts have the areas and ratios of torchvision's RandomResizedCrop (its documentation: scale 0.08 to 1, ratio 3/4 to 4/3).
func TestPartsOfImages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	square := pixel.Shape{Height: 224, Width: 224, Channels: 3}
	const n = 20_000
	small, wide, flips := 0, 0, 0
	for range n {
		p := drawPart(random, square, true)
		area, ratio := float64(p.width*p.height)/(224*224), float64(p.width)/float64(p.height)
		if p.top < 0 || p.left < 0 || p.top+p.height > 224 || p.left+p.width > 224 {
			t.Fatalf("%+v lies outside", p)
		}
		if area < .078 || area > 1 || ratio < .72 || ratio > 1.39 { // sides are whole pixels
			t.Fatalf("%+v: area %v, ratio %v", p, area, ratio)
		}
		if area < .4 {
			small++
		}
		if ratio > 1 {
			wide++
		}
		if p.flip {
			flips++
		}
	}
	// Areas below 3/4 always fit, whatever the ratio. Those above are drawn again where a side is too long: at area a the
	// ratio must lie in [a, 1/a], the share −ln a/ln(4/3) of the draws.
	kept := 0.
	for k := range 100_000 {
		if a := .08 + .92*(float64(k)+.5)/100_000; a < .75 {
			kept++
		} else {
			kept += -math.Log(a) / math.Log(4./3)
		}
	}
	if want := (.4 - .08) / .92 / (kept / 100_000); math.Abs(float64(small)/n-want) > .015 {
		t.Errorf("%d of %d parts below 0.4 of the area; want a share of %.3f", small, n, want)
	}
	if math.Abs(float64(wide)/n-.5) > .02 || math.Abs(float64(flips)/n-.5) > .02 {
		t.Errorf("%d wide, %d mirrored of %d", wide, flips, n)
	}
	// No part of a long image has such a ratio and enough area: the largest one in the middle.
	if p := drawPart(random, pixel.Shape{Height: 10, Width: 10_000, Channels: 1}, false); p != (part{0, 4993, 10, 13, false}) {
		t.Errorf("%+v", p)
	}
	if p := drawPart(random, pixel.Shape{Height: 10_000, Width: 10, Channels: 1}, false); p != (part{4993, 0, 13, 10, false}) {
		t.Errorf("%+v", p)
	}
}

// A part is scaled as Pillow scales it (internal/picture is compared with Pillow), but for its rounding to bytes.
func TestScaledParts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	from := pixel.Shape{Height: 40, Width: 50, Channels: 3}
	bytes := make([]uint8, from.Len())
	values := make([]float32, from.Len())
	for i := range bytes {
		bytes[i] = uint8(random.IntN(256))
	}
	scale(bytes, values)
	for _, p := range []part{{0, 0, 40, 50, false}, {3, 7, 9, 12, false}, {10, 1, 28, 31, true}, {5, 5, 1, 1, false}} {
		to := pixel.Shape{Height: 24, Width: 24, Channels: 3}
		cut := picture.Image{Pixels: make([]uint8, p.height*p.width*3), Shape: pixel.Shape{Height: p.height, Width: p.width, Channels: 3}}
		for y := range p.height {
			copy(cut.Pixels[y*p.width*3:][:p.width*3], bytes[((p.top+y)*from.Width+p.left)*3:])
		}
		want := picture.Resize(cut, to.Height, to.Width, "bilinear")
		got := make([]float32, to.Len())
		p.scale(values, from, to, got)
		for y := range to.Height {
			for x := range to.Width {
				mirrored := x
				if p.flip {
					mirrored = to.Width - 1 - x
				}
				for c := range 3 {
					a, b := got[(y*to.Width+x)*3+c], float32(want.Pixels[(y*to.Width+mirrored)*3+c])/255
					if math.Abs(float64(a-b)) > 1.02/255 {
						t.Fatalf("%+v: %v at %d, %d; want %v", p, a, y, x, b)
					}
				}
			}
		}
	}
}

// A flip alone mirrors half the views and moves nothing.
func TestFlipAlone(t *testing.T) {
	shape := pixel.Shape{Height: 1, Width: 3, Channels: 1}
	pixels, mirrored := []uint8{0, 51, 255}, 0
	for k := range 100 {
		for _, augment := range []viewing{{augment: onlyFlip}, {augment: onlyFlip + "-shared"}} {
			out := make([]float32, 3)
			random := stream(1, imageStream, 0, k, 0)
			if err := augment.of(pixels, shape, shape, random, random, out); err != nil {
				t.Fatal(err)
			}
			switch {
			case out[0] == 1 && out[1] == .2 && out[2] == 0:
				mirrored++
			case out[0] != 0 || out[1] != .2 || out[2] != 1:
				t.Fatalf("%v", out)
			}
		}
	}
	if mirrored < 60 || mirrored > 140 {
		t.Errorf("%d of 200 mirrored", mirrored)
	}
}
