package fourier_test

import (
	"fmt"

	"github.com/certspec/certspec/internal/spectral/fourier"
)

func ExampleNewHalf() {
	h, err := fourier.NewHalf(32, 32)
	fmt.Println(h.Len(), h.Columns(), err) // 32 rows of 32/2 + 1 columns
	// Output: 544 17 <nil>
}

func ExampleNewPlan() {
	p, _ := fourier.NewPlan[float64](4, 4)
	image := make([]float64, 16)
	for i := range image {
		image[i] = 1
	}
	s := fourier.NewSpectrum[float64](p.Half())
	p.Forward(p.NewWorkspace(), s, image)
	amplitude := make([]float64, p.Half().Len())
	p.Amplitude(amplitude, s)
	k, _ := p.Half().Bin(0, 0)
	fmt.Println(amplitude[k])
	// Output: 16
}

func ExampleBasis() {
	h, _ := fourier.NewHalf(2, 2)
	b, err := fourier.Basis(h, 0, 0, 0)
	fmt.Println(b, err) // of norm 1
	// Output: [0.5 0.5 0.5 0.5] <nil>
}
