package sweep_test

import (
	"fmt"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs/sweep"
)

func ExampleCells() {
	cells, err := sweep.Cells([]string{"fog", "pixelate"}, corrupt.Setting{}, []int{1, 3})
	fmt.Println(cells, err)
	// Output: [fog-1 fog-3 pixelate-1 pixelate-3] <nil>
}
