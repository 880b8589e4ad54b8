package infer

import (
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/classifier"
)

// bare gives a call of the compiled graph alone, on images that are on the device already.
func (n *Network) bare(t testing.TB, real classifier.Batch) func() {
	s := n.info.Shape
	images := tensors.FromFlatDataAndDimensions(real.Real, real.N, s.Height, s.Width, s.Channels)
	inputs := append([]any{images}, n.weights...)
	return func() {
		output, err := n.real.Call1(inputs...)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := tensors.CopyFlatData[float32](output); err != nil { // waits for the answer
			t.Error(err)
		}
		if err := output.FinalizeAll(); err != nil {
			t.Error(err)
		}
	}
}
