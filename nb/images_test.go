package nb

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"strings"
	"testing"

	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// The picture in the page is the image of the sliders, each pixel as a square.
func TestBrowse(t *testing.T) {
	w := Browse("squares", pixel.Shape{Height: 1, Width: 2, Channels: 1}, []Slider{{Name: "grey", Values: []string{"a", "b"}}}, func(at []int) []uint8 {
		return []uint8{10, uint8(100 * at[0])}
	})
	for choice, want := range []uint32{0, 100} {
		text := strings.Join(w.Frame([]int{choice}), "")
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

// Heads stand above the images of their row alone, and move it and what is below it down.
func TestHeads(t *testing.T) {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 1}
	white := bytes.Repeat([]byte{255}, shape.Len())
	// ink is the height of a figure of two rows of white images, and how many of its lines have something on them.
	ink := func(heads ...string) (height, marked int) {
		f := Images("", shape, Row{Images: [][]uint8{white, white}, Heads: heads}, Row{Images: [][]uint8{white, white}})
		data, err := f.png()
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		b := picture.Bounds()
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				if r, _, _, _ := picture.At(x, y).RGBA(); r < 0x8000 {
					if y > margin+textLine {
						t.Fatalf("%q: ink at line %d, below the head", heads, y)
					}
					marked++
					break
				}
			}
		}
		return b.Dy(), marked
	}
	without, none := ink()
	with, some := ink("severity 1")
	if none != 0 || some < 10 || with != without+textLine {
		t.Errorf("%d lines with ink of %d without a head, %d of %d with one; want 0, and %d lines more", none, without, some, with, textLine)
	}
}
