package feedforward_test

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/feedforward"
)

// Two logits, x₀ − x₁ and x₁ − x₀. In the ball they differ by 0.8 to 1.6.
func ExampleNetwork_Confidence() {
	b := feedforward.NewBuilder(2)
	net, err := b.Network(b.Dense(0, 2, []float64{1, -1, -1, 1}, nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{0.8, 0.2}
	ball, err := feedforward.Ball(x, 0.1, feedforward.Rigorous)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := net.Confidence(context.Background(), x, ball, feedforward.CROWN, feedforward.Rigorous)
	fmt.Printf("class %d, confidence %.3f to %.3f, %v\n", c.Class, math.Exp(c.LogLower), math.Exp(c.LogUpper), err)
	// Output: class 0, confidence 0.690 to 0.832, <nil>
}
