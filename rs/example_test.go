package rs_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// A service certifies single images. The model of this example is bright (class 1) above a mean of 0.5; the image has
// a mean of 0.8 in four values, so that the boundary is at the distance 0.3·√4 = 0.6.
func ExampleCertifyOne() {
	model := classifier.Linear{Shape: pixel.Shape{Height: 2, Width: 2, Channels: 1}, Weights: []float64{1, 1, 1, 1}, Bias: -2}
	image := []uint8{204, 204, 204, 204}

	c, err := rs.CertifyOne(context.Background(), model, image, rs.Options{Settings: rs.Settings{Sigma: 0.25}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Class, c.Radius > 0.5, c.Radius <= 0.6)

	// To know whether two radii are reached takes far fewer samples.
	c, err = rs.CertifyOne(context.Background(), model, image, rs.Options{Settings: rs.Settings{Sigma: 0.25, Rule: rs.Betting, Radii: []float64{0.25, 0.5}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Class, c.Radius, c.Passes < 5000)
	// Output:
	// 1 true true
	// 1 0.5 true
}
