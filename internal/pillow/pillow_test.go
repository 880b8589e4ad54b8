package pillow

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/pixel"
)

func grey(height, width int) pixel.Shape {
	return pixel.Shape{Height: height, Width: width, Channels: 1}
}

// Small cases worked out by hand from the definitions; internal/external compares thousands with Pillow.
func TestByHand(t *testing.T) {
	rgb := pixel.Shape{Height: 1, Width: 1, Channels: 3}
	row := []uint8{10, 20, 30, 250}
	square := []uint8{1, 2, 3, 4}
	for _, c := range []struct {
		name      string
		do        func(dst, src []uint8, shape pixel.Shape)
		shape     pixel.Shape
		src, want []uint8
	}{
		{"stretched: ⌊255 (v−10)/20⌋", AutoContrast, grey(1, 3), []uint8{10, 20, 30}, []uint8{0, 127, 255}},
		{"one value stays", AutoContrast, grey(1, 3), []uint8{7, 7, 7}, []uint8{7, 7, 7}},
		{"fewer than 255 pixels below the greatest: q = 0", Equalize, grey(1, 4), row, row},
		{"inverted", Invert, grey(1, 4), row, []uint8{245, 235, 225, 5}},
		{"two bits", func(d, s []uint8, h pixel.Shape) { Posterize(d, s, h, 2) }, grey(1, 4), row, []uint8{0, 0, 0, 192}},
		{"no bits", func(d, s []uint8, h pixel.Shape) { Posterize(d, s, h, 0) }, grey(1, 4), row, []uint8{0, 0, 0, 0}},
		{"solarized from 30 on", func(d, s []uint8, h pixel.Shape) { Solarize(d, s, h, 30) }, grey(1, 4), row, []uint8{10, 20, 225, 5}},
		{"half as bright", func(d, s []uint8, h pixel.Shape) { Brightness(d, s, h, .5) }, grey(1, 4), row, []uint8{5, 10, 15, 125}},
		{"twice as bright", func(d, s []uint8, h pixel.Shape) { Brightness(d, s, h, 2) }, grey(1, 4), row, []uint8{20, 40, 60, 255}},
		{"grey of red: ⌊.299·200 + ½⌋", func(d, s []uint8, h pixel.Shape) { Color(d, s, h, 0) }, rgb, []uint8{200, 0, 0}, []uint8{60, 60, 60}},
		{"without contrast: the mean 77.5 rounded", func(d, s []uint8, h pixel.Shape) { Contrast(d, s, h, 0) }, grey(1, 4), row, []uint8{78, 78, 78, 78}},
		{"smoothed: (5·130 + 8·0)/13", func(d, s []uint8, h pixel.Shape) { Sharpness(d, s, h, 0) }, grey(3, 3), []uint8{0, 0, 0, 0, 130, 0, 0, 0, 0}, []uint8{0, 0, 0, 0, 50, 0, 0, 0, 0}},
		{"a quarter turn to the left", func(d, s []uint8, h pixel.Shape) { Rotate(d, s, h, 90, Nearest) }, grey(2, 2), square, []uint8{2, 4, 1, 3}},
		{"a half turn", func(d, s []uint8, h pixel.Shape) { Rotate(d, s, h, -180, Bilinear) }, grey(2, 2), square, []uint8{4, 3, 2, 1}},
		{"a whole turn", func(d, s []uint8, h pixel.Shape) { Rotate(d, s, h, 720, Bilinear) }, grey(2, 2), square, square},
		{"moved by a pixel", func(d, s []uint8, h pixel.Shape) { Affine(d, s, h, [6]float64{1, 0, 1, 0, 1, 0}, Nearest) }, grey(1, 4), row, []uint8{20, 30, 250, 0}},
		{"moved by half a pixel", func(d, s []uint8, h pixel.Shape) { Affine(d, s, h, [6]float64{1, 0, .5, 0, 1, 0}, Bilinear) }, grey(1, 4), row, []uint8{15, 25, 140, 0}},
		{"sheared by a pixel a row", func(d, s []uint8, h pixel.Shape) { Affine(d, s, h, [6]float64{1, -1, 0, 0, 1, 0}, Nearest) }, grey(2, 2), square, []uint8{1, 2, 0, 3}},
	} {
		got := make([]uint8, len(c.src))
		c.do(got, c.src, c.shape)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v; expected %v", c.name, got, c.want)
		}
	}
	// 256 pixels of 0, 256 of 100 and 256 of 200: q = ⌊512/255⌋ = 2, so that 0 becomes ⌊1/2⌋, 100 becomes ⌊257/2⌋ = 128 and 200 ⌊513/2⌋, at most 255.
	src, got := make([]uint8, 768), make([]uint8, 768)
	for i := range src {
		src[i] = uint8(i / 256 * 100)
	}
	Equalize(got, src, grey(24, 32))
	if got[0] != 0 || got[256] != 128 || got[767] != 255 {
		t.Errorf("equalized to %d, %d, %d; expected 0, 128, 255", got[0], got[256], got[767])
	}
}

// The bytes of all operations on random images, as one digest: the same whatever the compiler makes of the arithmetic.
func TestSameBytesEverywhere(t *testing.T) {
	const want = "10c2fe1840096a9d"
	random := rand.New(rand.NewPCG(5, 6))
	digest := sha256.New()
	for range 200 {
		shape := pixel.Shape{Height: 1 + random.IntN(40), Width: 1 + random.IntN(40), Channels: 1 + 2*random.IntN(2)}
		src, dst := make([]uint8, shape.Len()), make([]uint8, shape.Len())
		for i := range src {
			src[i] = uint8(random.Uint32())
		}
		draw := func() float64 { return float64(random.IntN(1<<20)) / (1 << 19) } // in [0, 2)
		for _, do := range []func(){
			func() { AutoContrast(dst, src, shape) },
			func() { Equalize(dst, src, shape) },
			func() { Invert(dst, src, shape) },
			func() { Posterize(dst, src, shape, random.IntN(9)) },
			func() { Solarize(dst, src, shape, 128*draw()) },
			func() { Brightness(dst, src, shape, draw()) },
			func() { Color(dst, src, shape, draw()) },
			func() { Contrast(dst, src, shape, draw()) },
			func() { Sharpness(dst, src, shape, draw()) },
			func() { Rotate(dst, src, shape, 180*draw(), Nearest) },
			func() { Rotate(dst, src, shape, 180*draw(), Bilinear) },
			func() {
				Affine(dst, src, shape, [6]float64{draw(), draw() - 1, draw(), draw() - 1, draw(), draw()}, Bilinear)
			},
			func() {
				Affine(dst, src, shape, [6]float64{draw(), draw() - 1, draw(), draw() - 1, draw(), draw()}, Nearest)
			},
			func() { Affine(dst, src, shape, [6]float64{1, 0, draw(), 0, 1, draw()}, Nearest) },
			func() { Affine(dst, src, shape, [6]float64{1, 1e5, 0, 0, 1, 0}, Nearest) },
		} {
			do()
			digest.Write(dst)
		}
	}
	if got := hex.EncodeToString(digest.Sum(nil)[:8]); got != want {
		t.Errorf("digest %s; expected %q", got, want)
	}
}
