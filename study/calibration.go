package study

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/calib"
)

// ConfidenceBins of calibration errors (Emde et al. 2025).
const ConfidenceBins = 15

// init registers the quantities of certified confidences at a radius, on the set "confidences", of the
// images that are certified there.
func init() {
	registerBounds("cce", CCE)
	registerBounds("cbs", CBS)
}

// CCE is the largest calibration error that confidences within bounds can have, in ConfidenceBins bins.
func CCE(correct []bool, lower, upper []float64) (float64, error) {
	edges, err := calib.UniformEdges(ConfidenceBins)
	if err != nil {
		return 0, err
	}
	worst, err := calib.ExactCCE(correct, lower, upper, edges)
	return worst.CCE, err
}

// CBS is the largest Brier score that confidences within bounds can have.
func CBS(correct []bool, lower, upper []float64) (float64, error) {
	worst, _, err := calib.CertifiedBrier(correct, lower, upper)
	return worst, err
}

func registerBounds(word string, worst func(correct []bool, lower, upper []float64) (float64, error)) {
	register(word, func(radius float64) Quantity {
		return Quantity{Unit: share, Columns: []string{fmt.Sprintf("lower %g", radius), fmt.Sprintf("upper %g", radius)},
			Of: func(c []*Column, drawn []int) (float64, error) {
				var correct []bool
				var lower, upper []float64
				for _, i := range drawn {
					if !math.IsNaN(c[0].Values[i]) {
						correct = append(correct, c[0].Labels[i] == 1)
						lower, upper = append(lower, c[0].Values[i]), append(upper, c[1].Values[i])
					}
				}
				return worst(correct, lower, upper)
			}}
	})
}
