package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/certspec/certspec/pixel"
)

// rough is an image without any smoothness.
func rough(height, width, channels int) Image {
	im := blank(pixel.Shape{Height: height, Width: width, Channels: channels})
	i := 0
	for y := range height {
		for x := range width {
			for c := range channels {
				im.Pixels[i] = uint8((x*x*7 + y*y*13 + x*y*5 + c*91 + x*29 + y*53) ^ (x * y))
				i++
			}
		}
	}
	return im
}

// The expected values come from Image.resize of Pillow 12.3.0 on the same images: of the
// first table in full, of the second the beginning of the SHA-256 of all bytes.
func TestResizeIsThatOfPillow(t *testing.T) {
	for _, c := range []struct {
		filter string
		want   []uint8 // rough(5, 7, 1) on 2 × 3 pixels
	}{
		{"nearest", []uint8{106, 228, 158, 68, 222, 144}},
		{"box", []uint8{95, 130, 94, 117, 131, 117}},
		{"bilinear", []uint8{89, 139, 103, 116, 129, 108}},
		{"bicubic", []uint8{85, 142, 103, 121, 127, 110}},
		{"lanczos", []uint8{81, 144, 101, 123, 126, 110}},
	} {
		if got := Resize(rough(5, 7, 1), 2, 3, c.filter).Pixels; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v; Pillow has %v", c.filter, got, c.want)
		}
	}
	for _, c := range []struct {
		height, width, channels, newHeight, newWidth int
		filter, digest                               string
	}{
		{13, 17, 3, 5, 4, "nearest", "f5015183198a354f"},
		{13, 17, 3, 5, 4, "box", "3ceecfecf89f11c4"},
		{13, 17, 3, 5, 4, "bilinear", "437efa433fd60f09"},
		{13, 17, 3, 5, 4, "bicubic", "0947d17a27457738"},
		{13, 17, 3, 5, 4, "lanczos", "a221d00442af84eb"},
		{13, 17, 3, 29, 31, "nearest", "afff3686c586b584"},
		{13, 17, 3, 29, 31, "box", "afff3686c586b584"},
		{13, 17, 3, 29, 31, "bilinear", "85950766fb380c37"},
		{13, 17, 3, 29, 31, "bicubic", "9835cacc83b4efa0"},
		{13, 17, 3, 29, 31, "lanczos", "7368109660cf1138"},
		{13, 17, 3, 5, 31, "nearest", "80a22d87a1611850"},
		{13, 17, 3, 5, 31, "box", "c98952b7e1524775"},
		{13, 17, 3, 5, 31, "bilinear", "cf40699c61cb1c65"},
		{13, 17, 3, 5, 31, "bicubic", "72f0d5024e0ea220"},
		{13, 17, 3, 5, 31, "lanczos", "c9dfb5bd7b99e19b"},
		{64, 48, 1, 7, 9, "nearest", "975127380fc54027"},
		{64, 48, 1, 7, 9, "box", "f7c79d6868451442"},
		{64, 48, 1, 7, 9, "bilinear", "e6b58f15eae13e02"},
		{64, 48, 1, 7, 9, "bicubic", "12cb8fed7dfe99fd"},
		{64, 48, 1, 7, 9, "lanczos", "9ef02e0b567d32cc"},
		{9, 9, 3, 9, 4, "nearest", "436427a375952411"},
		{9, 9, 3, 9, 4, "box", "2787a50a949345ca"},
		{9, 9, 3, 9, 4, "bilinear", "19d2c4b71418979e"},
		{9, 9, 3, 9, 4, "bicubic", "6d5c996877630861"},
		{9, 9, 3, 9, 4, "lanczos", "43165dbfda08a5b8"},
		{9, 9, 3, 4, 9, "nearest", "d56a7c6acadca025"},
		{9, 9, 3, 4, 9, "box", "3df6e8aa9eff4b1a"},
		{9, 9, 3, 4, 9, "bilinear", "8cf542cff145b1ae"},
		{9, 9, 3, 4, 9, "bicubic", "051661c0bc2f9b28"},
		{9, 9, 3, 4, 9, "lanczos", "f5e6b066ea513611"},
		{240, 320, 3, 31, 41, "nearest", "de566641a42775f9"},
		{240, 320, 3, 31, 41, "box", "351db1adda23029e"},
		{240, 320, 3, 31, 41, "bilinear", "033c23142eace3fc"},
		{240, 320, 3, 31, 41, "bicubic", "4e5f2310332b38db"},
		{240, 320, 3, 31, 41, "lanczos", "d21c2cb03ef03f9d"},
	} {
		got := Resize(rough(c.height, c.width, c.channels), c.newHeight, c.newWidth, c.filter)
		if want := (pixel.Shape{Height: c.newHeight, Width: c.newWidth, Channels: c.channels}); got.Shape != want || len(got.Pixels) != want.Len() {
			t.Fatalf("%d bytes of %v; expected %v", len(got.Pixels), got.Shape, want)
		}
		sum := sha256.Sum256(got.Pixels)
		if digest := hex.EncodeToString(sum[:8]); digest != c.digest {
			t.Errorf("%d×%d×%d to %d×%d by %s: digest %s; Pillow's is %s",
				c.height, c.width, c.channels, c.newHeight, c.newWidth, c.filter, digest, c.digest)
		}
	}
}

func TestResizeKeepsConstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 40)
		shape := pixel.Shape{Height: side.Draw(t, "height"), Width: side.Draw(t, "width"), Channels: 1}
		value := rapid.Uint8().Draw(t, "value")
		im := Image{bytes.Repeat([]byte{value}, shape.Len()), shape}
		out := Resize(im, side.Draw(t, "new height"), side.Draw(t, "new width"), rapid.SampledFrom(Filters).Draw(t, "filter"))
		for _, v := range out.Pixels {
			if v != value {
				t.Fatalf("%d became %d", value, v)
			}
		}
	})
}

// Sizes and margins equal those of Resize and CenterCrop as torchvision documents and codes them:
// the longer side is cut to whole pixels, half a margin is rounded to even as Python's round does.
func TestCoverAndCrop(t *testing.T) {
	for _, c := range []struct{ height, width, side, newHeight, newWidth int }{
		{375, 500, 256, 256, 341}, {500, 375, 256, 341, 256}, {30, 30, 7, 7, 7}, {1, 3, 2, 2, 6},
	} {
		if h, w := Cover(c.height, c.width, c.side); h != c.newHeight || w != c.newWidth {
			t.Errorf("%d×%d with a shorter side of %d becomes %d×%d; expected %d×%d", c.height, c.width, c.side, h, w, c.newHeight, c.newWidth)
		}
	}
	line := func(n int) Image {
		im := blank(pixel.Shape{Height: 1, Width: n, Channels: 1})
		for i := range im.Pixels {
			im.Pixels[i] = uint8(i)
		}
		return im
	}
	for _, c := range []struct{ from, to, first int }{{5, 4, 0}, {7, 4, 2}, {9, 4, 2}, {6, 4, 1}, {4, 4, 0}} {
		if got := Crop(line(c.from), 1, c.to).Pixels; int(got[0]) != c.first || len(got) != c.to {
			t.Errorf("%d pixels cropped to %d are %v; expected them from %d on", c.from, c.to, got, c.first)
		}
	}
	got := Crop(rough(6, 8, 3), 2, 4)
	for y := range 2 {
		for i := range 12 {
			if got.Pixels[y*12+i] != rough(6, 8, 3).Pixels[(2+y)*24+6+i] {
				t.Fatalf("row %d, value %d is not from the centre", y, i)
			}
		}
	}
}
