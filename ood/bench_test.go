package ood

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkArea(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	in, foreign := make([]float64, 10_000), make([]float64, 26_032)
	for i := range in {
		in[i] = random.NormFloat64() + 1
	}
	for i := range foreign {
		foreign[i] = random.NormFloat64()
	}
	for b.Loop() {
		if _, err := Area(in, foreign); err != nil {
			b.Fatal(err)
		}
	}
}
