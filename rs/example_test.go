package rs_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// A service certifies single images. The model of this example is bright (class 1) above a mean of 0.5; the image has
// a mean of 0.8 in four values, so that the boundary is at the distance 0.3·√4 = 0.6.
func ExampleCertifyOne() {
	model := classifier.Linear{Shape: pixel.Shape{Height: 2, Width: 2, Channels: 1}, Weights: []float64{1, 1, 1, 1}, Bias: -2}
	image := []uint8{204, 204, 204, 204}

	c, err := rs.CertifyOne(context.Background(), model, image, rs.Options{Sigma: 0.25})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Class, c.Radius > 0.5, c.Radius <= 0.6)

	// To know whether two radii are reached takes far fewer samples.
	c, err = rs.CertifyOne(context.Background(), model, image, rs.Options{Sigma: 0.25, Rule: rs.Betting, Radii: []float64{0.25, 0.5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Class, c.Radius, c.Passes < 5000)
	// Output:
	// 1 true true
	// 1 0.5 true
}

// A data set is certified image by image, recorded in a ledger where Options.Ledger names one. This model calls everything class 3, as one of the ten images is.
func ExampleCertify() {
	images, err := dataset.Open("synthetic/test[count=10]")
	if err != nil {
		fmt.Println(err)
		return
	}
	model := classifier.Constant{Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Class: 3}
	run, err := rs.Certify(context.Background(), model, images, rs.Options{Sigma: 0.25, Rule: rs.Fixed, MaxSamples: 200})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := run.CertifiedAccuracy(0)[0]
	fmt.Println(at.Count, "of", at.Images)
	// Output: 1 of 10
}

// What a ledger records is read without the model, and follows from its counts again.
func ExampleOpen() {
	const path = "../notebooks/results/quickstart.ledger"
	run, err := rs.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d images, average certified radius %.3f, certified accuracy at 0.25: %.3f\n", run.Images(), run.ACR().Value, run.CertifiedAccuracy(0.25)[0].Value)

	verified, err := rs.Verify(context.Background(), path)
	fmt.Println(verified.Images, err)
	// Output:
	// 500 images, average certified radius 0.555, certified accuracy at 0.25: 0.782
	// 500 <nil>
}

// The smoothed classifier answers, or abstains.
func ExamplePredict() {
	model := classifier.Linear{Shape: pixel.Shape{Height: 2, Width: 2, Channels: 1}, Weights: []float64{1, 1, 1, 1}, Bias: -2}
	p, err := rs.Predict(context.Background(), model, []uint8{204, 204, 204, 204}, rs.PredictOptions{Sigma: 0.25})
	fmt.Println(p.Class, p.PValue < 0.001, err)
	// Output: 1 true <nil>
}

// A ledger is gone through image by image, with the counts of all looks.
func ExampleReadLedger() {
	l, err := rs.ReadLedger("testdata/v1-staged.ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	images := 0
	for looks := range l.Images() {
		if len(looks) > 0 {
			images++
		}
	}
	fmt.Println(images, "images of", l.Header.Data.Images)
	// Output: 12 images of 12
}
