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

func ExampleEffectiveRobustness() {
	// On the line y = x a model with 80 % is expected to keep 80 %; this one keeps 70 %.
	clean, _ := lines.Count(80, 100)
	shifted, _ := lines.Count(70, 100)
	e, _ := lines.EffectiveRobustness(lines.Line{Slope: 1}, clean, shifted, lines.Clip{})
	fmt.Printf("%+.2f\n", e.Accuracy)
	// Output: -0.10
}
