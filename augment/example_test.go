package augment_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/pixel"
)

func ExampleFromBytes() {
	values := make([]float32, 3)
	augment.FromBytes(values, []uint8{0, 51, 255})
	fmt.Println(values)
	// Output: [0 0.2 1]
}

func ExampleToBytes() {
	pixels := make([]uint8, 3)
	augment.ToBytes(pixels, []float32{-1, .2, 2})
	fmt.Println(pixels)
	// Output: [0 51 255]
}

func ExampleParse() {
	a, err := augment.Parse("augmix(severity=5)+flip")
	fmt.Println(a, err)
	_, err = augment.Parse("augmx")
	fmt.Println(err != nil)
	// Output:
	// augmix(severity=5)+flip <nil>
	// true
}

func ExampleNew() {
	a, err := augment.New("augmix", "severity=5")
	fmt.Println(a, err)
	// Output: augmix(severity=5) <nil>
}

func ExampleNewStream() {
	at := augment.Address{Seed: 1, Image: 7, View: 2}
	first, again := augment.NewStream(at), augment.NewStream(at)
	fmt.Println(first.Uint64() == again.Uint64()) // an address is a view for ever
	// Output: true
}

func ExampleViews() {
	// The flip of images of one row and two columns leaves them or exchanges the columns.
	images := [][]float32{{0, 1}, {0, 1}, {0, 1}}
	flip, _ := augment.New("flip")
	load := func(i int, dst []float32) error { copy(dst, images[i]); return nil }
	at := func(i int) augment.Address { return augment.Address{Seed: 1, Image: uint64(i)} }
	sums := make([]float32, len(images))
	save := func(i int, view []float32) error { sums[i] = view[0] + view[1]; return nil }
	err := augment.Views(context.Background(), flip, pixel.Shape{Height: 1, Width: 2, Channels: 1}, len(images), 1, load, at, save)
	fmt.Println(sums, err)
	// Output: [1 1 1] <nil>
}
