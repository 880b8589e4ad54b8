package spectral_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

func ExampleWindow() {
	fmt.Println(spectral.Window(2))
	// Output: [-2 -1 0 1 2]
}

func ExampleFrequencies() {
	fmt.Println(spectral.Frequencies(4))
	// Output: [-2 -1 0 1]
}

func ExampleRepresentatives() {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	w := spectral.Window(15)
	fmt.Println(len(w)*len(w), len(spectral.Representatives(shape, w, w))) // half of the others, and (0, 0)
	// Output: 961 481
}

func ExampleCanonical() {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	fmt.Println(spectral.Canonical(shape, spectral.Frequency{U: 2, V: -3}))
	// Output: {-2 3}
}

func ExampleMeanSpectrum() {
	// Two white images of 4×4 pixels: their sum stands at the frequency 0, nothing anywhere else.
	shape := pixel.Shape{Height: 4, Width: 4, Channels: 1}
	white := make([]uint8, 2*shape.Len())
	for i := range white {
		white[i] = 255
	}
	s, err := spectral.MeanSpectrum(context.Background(), spectral.Bytes(shape, white), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	zero, _ := s.Amplitude.At(0, 0)
	one, _ := s.Amplitude.At(0, 1)
	fmt.Println(zero, one)
	// Output: 16 0
}

func ExampleHeatMap() {
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 1}
	w := spectral.Window(1)
	m, _ := spectral.HeatMap(context.Background(), shape, w, w, func(_ context.Context, f spectral.Frequency) (float64, error) {
		return float64(f.U*f.U + f.V*f.V), nil
	})
	fmt.Println(m.Values)
	// Output: [2 1 2 1 0 1 2 1 2]
}

func ExampleReadMap() {
	m, err := spectral.ReadMap("acr.tsv", strings.NewReader("i\tj\tacr\tn_images\n0\t0\t0.5\t100\n"), 32, 32)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.At(0, 0))
	// Output: 0.5 true
}

func ExampleNewProbe() {
	// The basis image of the frequency 0 is constant: norm 1 over 4 pixels is one half in each.
	p, err := spectral.NewProbe(pixel.Shape{Height: 2, Width: 2, Channels: 1}, spectral.Frequency{}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", p.Norm()) // rounded to steps of 1/255
	// Output: 1.00
}
