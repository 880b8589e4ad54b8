package noise

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Vectors draw what the plain form draws, clamped values, undecided ones and torn lengths included.
func TestVectorsDrawTheSame(t *testing.T) {
	fast := newBits
	defer func() { newBits = fast }()
	random := rand.New(rand.NewPCG(3, 4))
	for _, sigma := range []float64{0.01, 0.12, 0.25, 0.33, 0.5, 1, largestSigma} {
		g := grid(t, sigma)
		plain := *g
		plain.addDecided = plain.addPlain
		if addVectors != nil && sigma < 2 && addVectors(g) == nil {
			t.Errorf("σ = %g: vectors draw no values", sigma)
		}
		for _, length := range []int{1, 31, 32, 33, 784, 2047, 2049, 4130} {
			image := make([]int16, length)
			for i := range image {
				image[i] = []int16{int16(g.low), int16(g.high), int16(random.IntN(256))}[random.IntN(3)]
			}
			at := Address{Seed: 1, Image: random.Uint64(), Block: 2}
			var drawn [2][]int16
			for i, g := range []*Grid{g, &plain} {
				newBits = []func([16]byte, uint64) randomBits{fast, newCipherBits}[i]
				drawn[i] = make([]int16, 10*length)
				if _, err := g.AddTo(drawn[i], image, at, 3, nil); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(drawn[0], drawn[1]) {
				t.Errorf("σ = %g, %d values: vectors draw other noise than the plain form", sigma, length)
			}
		}
	}
}
