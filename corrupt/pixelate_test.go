package corrupt

import (
	"bytes"
	"testing"

	"github.com/certspec/certspec/internal/picture"
	"github.com/certspec/certspec/pixel"
)

// Pillow's two resizes, which package picture has value for value.
func TestPixelateIsTwoResizes(t *testing.T) {
	for _, shape := range []pixel.Shape{colour32, grey28, {Height: 16, Width: 17, Channels: 3}, {Height: 29, Width: 31, Channels: 1}, {Height: 64, Width: 48, Channels: 3}, {Height: 224, Width: 225, Channels: 3}} {
		src := scenes(shape, 1)
		for severity, c := range []float64{.95, .9, .85, .75, .65} {
			got := corrupted(t, Setting{Name: "pixelate", Severity: severity + 1}, shape, testKey, src, 0, 1)
			small := picture.Resize(picture.Image{Shape: shape, Pixels: src}, int(float64(shape.Height)*c), int(float64(shape.Width)*c), "box")
			if want := picture.Resize(small, shape.Height, shape.Width, "box"); !bytes.Equal(got, want.Pixels) {
				t.Errorf("%v, severity %d: other bytes", shape, severity+1)
			}
		}
	}
}
