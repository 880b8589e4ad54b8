package pixel_test

import (
	"fmt"

	"github.com/certspec/certspec/pixel"
)

func ExampleShape() {
	s := pixel.Shape{Height: 32, Width: 24, Channels: 3}
	fmt.Println(s, s.Len(), s.Valid())
	// Output: 32×24×3 2304 true
}
