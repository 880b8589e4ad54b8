package corrupt_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

func ExampleParse() {
	s, err := corrupt.Parse("fog:3")
	fmt.Println(s.Name, s.Severity, err)
	_, err = corrupt.Parse("fogg:3")
	fmt.Println(err)
	// Output:
	// fog 3 <nil>
	// corrupt: no corruption is called "fogg"; did you mean fog? certspec corrupt list names all
}

func ExampleFind() {
	info, _ := corrupt.Find("fog")
	fmt.Println(info.Family, len(info.Severities))
	// Output: C 5
}

func ExampleNames() {
	names, _ := corrupt.Names([]string{"C"})
	fmt.Println(len(names)) // of CIFAR-10-C
	// Output: 15
}

func ExampleNew() {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	c, err := corrupt.New(corrupt.Setting{Name: "brightness", Severity: 5}, shape, corrupt.Key{Seed: 1, Data: "CIFAR-10"})
	if err != nil {
		fmt.Println(err)
		return
	}
	dark, bright := make([]uint8, shape.Len()), make([]uint8, shape.Len())
	err = c.Images(context.Background(), bright, dark, []int{0}, 1, nil)
	fmt.Println(bytes.Count(bright, bright[:1]) == shape.Len(), bright[0] > 0, err)
	// Output: true true <nil>
}

func ExampleDataset() {
	clean, _ := dataset.Open("synthetic/test")
	foggy, err := corrupt.Dataset(clean, corrupt.Setting{Name: "fog", Severity: 3}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	images, err := foggy.Subset(dataset.Count(10)).Load(context.Background())
	fmt.Println(images.Len(), err)
	// Output: 10 <nil>
}

func ExampleFourierFile() {
	fmt.Println(corrupt.FourierFile(3, .5, false).Name)
	// Output: fourier_fc3_a0.5.npy
}

func ExampleSetName() {
	fmt.Println(corrupt.SetName("cifar10/test"), corrupt.SetName("folder:/pictures"))
	// Output: CIFAR-10 images
}
