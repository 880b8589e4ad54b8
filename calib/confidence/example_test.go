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

func ExampleShiftDown() {
	// Φ(Φ⁻¹(.5) − 1): what is left of one half after a shift by one standard deviation.
	p, _ := confidence.ShiftDown(.5, 1)
	fmt.Printf("%.4f\n", p)
	// Output: 0.1587
}
