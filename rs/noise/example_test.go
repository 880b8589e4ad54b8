package noise_test

import (
	"fmt"

	"github.com/certspec/certspec/rs/noise"
)

func ExampleNewGrid() {
	g, err := noise.NewGrid(.25)
	if err != nil {
		fmt.Println(err)
		return
	}
	image, a, b := make([]int16, 4), make([]int16, 4), make([]int16, 4)
	at := noise.Address{Seed: 1}
	g.AddTo(a, image, at, 0, nil)
	g.AddTo(b, image, at, 0, nil)
	fmt.Println(a[0] == b[0], a[3] == b[3]) // an address is a noise sample for ever
	// Output: true true
}
