package main

import (
	"math"
	"testing"
)

// The ResNet-20 of He et al. 2015 has 40.55 million multiply-adds of convolutions forward, with projections 40.81, and 640 in its dense layer; its first
// layer has 32·32·27·16.
func TestTrainingOperations(t *testing.T) {
	a, err := architecture("resnet20")
	if err != nil {
		t.Fatal(err)
	}
	const stage, projections = 32 * 32 * 16 * 16 * 9, 2 * 16 * 16 * 16 * 32
	first := 32. * 32 * 27 * 16
	forward := first + 6*stage + 2*(stage/2+5*stage) + projections + 640
	if got, want := trainingOperations(a), 2*(3*forward-first); math.Abs(got-want) > 0.5 {
		t.Errorf("%.0f operations, want %.0f", got, want)
	}
}
