package lines_test

import (
	"fmt"

	"github.com/certspec/certspec/lines"
)

// A line through three points that lie on one.
func ExampleLeastSquares() {
	line, err := lines.LeastSquares([]float64{0, 1, 2}, []float64{1, 3, 5})
	fmt.Println(line.Slope, line.Intercept, line.At(3), err)
	// Output: 2 1 7 <nil>
}

// Accuracies are compared on the scale of the normal quantile.
func ExampleProbit() {
	fmt.Printf("%.2f %.3f\n", lines.Probit(0.975), lines.Phi(1.96))
	// Output: 1.96 0.975
}
