package resample_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/resample"
)

// The mean of a few radii, with its 90 % interval.
func ExampleRun() {
	radii := []float64{0, .2, .3, .5, .5, .6, .7, .9, .9, 1.1}
	estimates, err := resample.Run(context.Background(), resample.Paired(len(radii)), 1, func(d resample.Draw, values []float64) error {
		values[0] = 0
		for _, i := range d.First {
			values[0] += radii[i] / float64(len(d.First))
		}
		return nil
	}, resample.Options{Confidence: .9})
	fmt.Printf("%.2f in %v, %v\n", estimates[0].Value, estimates[0].Interval, err)
	// Output: 0.57 in [0.4000, 0.7400], <nil>
}

// Of four claims, two stand together at 5 %.
func ExampleHolm() {
	corrected, err := resample.Holm([]float64{.01, .04, .03, .005})
	fmt.Printf("%.2f %v\n", corrected, err)
	// Output: [0.03 0.06 0.06 0.02] <nil>
}
