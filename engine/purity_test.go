package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/noise"
)

// An honest network is never refused, on any engine, with both noise laws, blocks of 100, 32 and 1, and one to four images.
func TestHonestNetworksAreFunctions(t *testing.T) {
	shape := pixel.Shape{Height: 28, Width: 28, Channels: 1}
	everyWay(t, "../notebooks/models/fmnist-cnn-s025", func(t *testing.T, m classifier.Classifier) {
		for trial, c := range []struct {
			law           noise.Law
			block, images int
		}{{noise.LawGrid, 100, 1}, {noise.LawGrid, 1, 3}, {noise.LawGaussian, 32, 4}} {
			random := rand.New(rand.NewPCG(1, uint64(trial)))
			images := &dataset.Images{Name: "random", Shape: shape, Digest: "sha256:random"}
			for i := range c.images {
				images.IDs, images.Labels = append(images.IDs, i), append(images.Labels, i%10)
				for range shape.Len() {
					images.Pixels = append(images.Pixels, uint8(random.IntN(256)/(1+i)))
				}
			}
			use := preflight.Use{Sigma: .25, Noise: c.law, Block: c.block}
			first, err := preflight.Look(t.Context(), m, images, use)
			if err != nil || first.Function.Beyond+first.Function.Changed > 0 || first.Preprocessing == "" {
				t.Errorf("trial %d: %+v, %v", trial, first, err)
			}
			t.Logf("trial %d: logits up to %.2g of the tolerance apart", trial, first.Function.Largest)
		}
	})
}
