package classifier_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
)

func ExampleFunc() {
	// Images of one pixel: class 1 where it is bright.
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	model := classifier.Func(shape, 2, func(image []float32) []float32 { return []float32{.5, image[0]} })
	result := classifier.Result{Classes: make([]int32, 2)}
	batch := classifier.Batch{N: 2, Grid: []int16{0, 255}}
	err := model.Classify(context.Background(), batch, &result)
	fmt.Println(result.Classes, err)
	// Output: [0 1] <nil>
}

func ExampleLinear() {
	// 3a + 4b − 2 at a = b = 1 is 5, over the norm 5 of the weights.
	model := classifier.Linear{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1}, Weights: []float64{3, 4}, Bias: -2}
	fmt.Println(model.Radius([]uint8{255, 255}))
	// Output: 1
}

func ExampleDecide() {
	info := classifier.Info{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 2}
	result := classifier.Result{Classes: make([]int32, 2), Scores: make([]float32, 4)}
	batch := classifier.Batch{N: 2, Grid: []int16{0, 0}}
	classifier.Decide(info, batch, []float32{1, 1, 0, 5}, &result) // of equal logits the first
	fmt.Println(result.Classes, result.Scores[:2])
	// Output: [0 1] [0.5 0.5]
}
