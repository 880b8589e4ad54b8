package papers

import (
	"math"

	"github.com/certspec/certspec/internal/gomlxmodels/lossvalue"
	"github.com/certspec/certspec/notebooks/lesson"
)

// HCR is the loss of lesson.HCRByHand by the graph that training uses, in float64 on the backend in Go.
func HCR(lambda, eta float64, views ...lesson.Answers) (float64, error) {
	var logits []float64 // of two classes: [views, 2 noises, 1 image, 2 classes]
	for _, v := range views {
		for _, p := range []float64{v.First, v.Second} {
			logits = append(logits, math.Log(p), math.Log(1-p))
		}
	}
	return lossvalue.HCR(logits, len(views), 2, 2, lambda, eta)
}
