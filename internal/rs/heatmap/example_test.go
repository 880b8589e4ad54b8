package heatmap_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/pixel"
)

func ExampleBoth() {
	fmt.Println(heatmap.Both(0, 1, 5))
	// Output: [-5 -1 0 1 5]
}

func ExampleRun() {
	// A model that always says 3 is right on one synthetic class of ten, whatever is added.
	model := classifier.Constant{Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Class: 3}
	data, _ := dataset.Open("synthetic/test[count=10]")
	m, err := heatmap.Run(context.Background(), model, data, heatmap.Options{Metric: heatmap.Error, Frequencies: heatmap.Both(0, 8)})
	if err != nil {
		fmt.Println(err)
		return
	}
	value, _ := m.At(8, 0)
	fmt.Println(m.U, value)
	// Output: [-8 0 8] 0.9
}
