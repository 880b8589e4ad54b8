package dataset_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/dataset"
)

func ExampleOpen() {
	data, err := dataset.Open("synthetic/test")
	if err != nil {
		fmt.Println(err)
		return
	}
	sample := data.Subset(dataset.Skip(20), dataset.Count(100))
	images, err := sample.Load(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(images.Name, images.Len(), images.Shape)
	fmt.Println(images.IDs[0]%20, images.Classes[images.Labels[0]] != "")
	// Output:
	// synthetic/test[skip=20,count=100] 100 32×32×3
	// 0 true
}

func ExampleDataset_Split() {
	data, err := dataset.Open("synthetic/train")
	if err != nil {
		fmt.Println(err)
		return
	}
	train, validation := data.Split(0.9, 1)
	fmt.Println(train)
	fmt.Println(validation)
	// Output:
	// synthetic/train[split=0.9:1:1]
	// synthetic/train[split=0.9:1:2]
}
