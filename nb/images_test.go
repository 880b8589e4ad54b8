package nb

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

func TestBytes(t *testing.T) {
	if got := Bytes([]float64{-3, 0, 1. / 255, .5, 1, 7}); !slices.Equal(got, []uint8{0, 0, 1, 128, 255, 255}) {
		t.Errorf("%v", got)
	}
}

// The picture in the page is the image of the sliders, each pixel as a square.
func TestBrowse(t *testing.T) {
	w := Browse("squares", pixel.Shape{Height: 1, Width: 2, Channels: 1}, []Slider{{Name: "grey", Values: []string{"a", "b"}}}, func(at []int) []uint8 {
		return []uint8{10, uint8(100 * at[0])}
	})
	for choice, want := range []uint32{0, 100} {
		text := w.Frame([]int{choice})[0]
		_, encoded, _ := strings.Cut(text, "base64,")
		encoded, _, _ = strings.Cut(encoded, `"`)
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		size := picture.Bounds().Size()
		left, _, _, _ := picture.At(0, 0).RGBA()
		right, _, _, _ := picture.At(size.X-1, size.Y-1).RGBA()
		if size.X != 2*size.Y || left>>8 != 10 || right>>8 != want {
			t.Errorf("%v: %d on the left, %d on the right; want 10, %d", size, left>>8, right>>8, want)
		}
	}
}

// A map whose upper left cell alone is high is white there and black elsewhere.
func TestHeatMaps(t *testing.T) {
	m := &spectral.Map{Height: 4, Width: 4, U: []int{0, 1}, V: []int{0, 1}, Values: []float64{0, 0, 1, 0}}
	f := HeatMaps("two cells", 0, 1, []string{"map"}, m)
	if c := light(t, f, .3, .3); c < 250 {
		t.Errorf("upper left: %d", c)
	}
	if c := light(t, f, .3, .7); c > 5 {
		t.Errorf("lower left: %d", c)
	}
}
