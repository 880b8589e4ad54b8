package papers

import (
	"math"
	"testing"

	"github.com/certspec/certspec/internal/gomlxmodels/lossvalue"
	"github.com/certspec/certspec/notebooks/lesson"
)

// The loss that notebook fouriermix computes by hand is the one of training, in float64 on the backend in Go.
func TestHCRByHandIsTheLossOfTraining(t *testing.T) {
	views := []lesson.Answers{{First: .9, Second: .7}, {First: .6, Second: .8}, {First: .5, Second: .3}}
	var logits []float64 // of two classes: [views, 2 noises, 1 image, 2 classes]
	for _, v := range views {
		for _, p := range []float64{v.First, v.Second} {
			logits = append(logits, math.Log(p), math.Log(1-p))
		}
	}
	trained, err := lossvalue.HCR(logits, len(views), 2, 2, 40, 10)
	if _, _, byHand := lesson.HCRByHand(40, 10, views...); err != nil || !(math.Abs(byHand-trained) < 1e-12) {
		t.Errorf("by hand %v, by the graph %v, %v", byHand, trained, err)
	}
}
