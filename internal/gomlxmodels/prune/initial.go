package prune

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/nets"
)

// inputs are the values that one output of a kernel takes.
func inputs(t nets.Tensor) float64 { return float64(t.Size() / t.Shape[len(t.Shape)-1]) }

// streamOf depends on seed and name alone.
func streamOf(kind string, t nets.Tensor, seed uint64) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(kind + "/" + t.Name))
	return rand.New(rand.NewPCG(seed, hash.Sum64()))
}

// Scores are those that a kernel begins with: uniform in ±1/√inputs (He et al. 2015 with a = √5, as
// PyTorch's layers begin).
func Scores(t nets.Tensor, seed uint64) []float32 {
	values, random, bound := make([]float32, t.Size()), streamOf("scores", t, seed), 1/math.Sqrt(inputs(t))
	for i := range values {
		values[i] = float32((2*random.Float64() - 1) * bound)
	}
	return values
}

// Frozen are the weights that a method learns scores of: of a kernel ±√(2/inputs) for EdgePopup,
// normal with that deviation for BiProp; of normalisation scales of 1; all others 0.
func Frozen(m Method, t nets.Tensor, seed uint64) []float32 {
	values := make([]float32, t.Size())
	if len(t.Shape) == 1 {
		if initial := t.Initialize(seed); t.Running {
			return initial
		}
		if strings.HasSuffix(t.Name, "/scale") {
			for i := range values {
				values[i] = 1
			}
		}
		return values
	}
	random, deviation := streamOf("frozen", t, seed), math.Sqrt(2/inputs(t))
	_, signed := m.(EdgePopup)
	for i := range values {
		v := random.NormFloat64()
		if signed {
			v = math.Copysign(1, v)
		}
		values[i] = float32(v * deviation)
	}
	return values
}
