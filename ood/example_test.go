package ood_test

import (
	"fmt"

	"github.com/certspec/certspec/ood"
)

// Own confidences against foreign ones, pair by pair: five of six pairs are in order.
func ExampleArea() {
	area, err := ood.Area([]float64{0.9, 0.8, 0.4}, []float64{0.5, 0.3})
	fmt.Printf("%.3f %v\n", area.Value, err)
	// Output: 0.833 <nil>
}

// At the threshold that all own confidences reach, one of two foreign ones does.
func ExampleFPR() {
	fmt.Println(ood.FPR([]float64{0.9, 0.8, 0.4}, []float64{0.5, 0.3}, 0.95))
	// Output: 0.5 0.4 <nil>
}

func ExampleDifference() {
	// Two networks on the same images: the first tells all foreign images, the second half of the pairs.
	own, foreign := []float64{.9, .8}, []float64{.1, .2}
	d, _, _ := ood.Difference(own, foreign, []float64{.5, .5}, []float64{.5, .5})
	fmt.Println(d)
	// Output: 0.5
}
