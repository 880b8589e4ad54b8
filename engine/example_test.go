package engine_test

import (
	"fmt"

	"github.com/certspec/certspec/engine"
)

// A model file, or an ONNX file, is a classifier; nothing runs before it is asked.
func ExampleOpen() {
	model, err := engine.Open("../notebooks/models/fmnist-cnn-s025", engine.Backend("go"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	info, err := model.Info()
	fmt.Println(info.Shape, info.Classes, err)
	// Output: 28×28×1 10 <nil>
}
