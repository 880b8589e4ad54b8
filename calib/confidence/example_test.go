package confidence_test

import (
	"fmt"

	"github.com/certspec/certspec/calib/confidence"
)

func ExampleHalfWidth() {
	// √(ln(2/.05)/200)
	width, _ := confidence.HalfWidth(100, .05)
	fmt.Printf("%.4f\n", width)
	// Output: 0.1358
}
