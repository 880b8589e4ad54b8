package nets

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// An initializer fills a new tensor.
type initializer func(values []float32, stream *rand.Rand)

// Initialize draws the first values of a tensor: normal with variance 2/(k²·outputs) for a
// convolution, uniform in ±1/√inputs for a dense layer, 1 for scales and variances, 0 for
// shifts and means. They depend on seed and on the name of the tensor alone.
func (t Tensor) Initialize(seed uint64) []float32 {
	hash := fnv.New64a()
	hash.Write([]byte(t.Name))
	values := make([]float32, t.Size())
	t.init(values, rand.New(rand.NewPCG(seed, hash.Sum64())))
	return values
}

func constant(c float32) initializer {
	return func(values []float32, _ *rand.Rand) {
		for i := range values {
			values[i] = c
		}
	}
}

func normal(variance float64) initializer {
	deviation := math.Sqrt(variance)
	return func(values []float32, stream *rand.Rand) {
		for i := range values {
			values[i] = float32(stream.NormFloat64() * deviation)
		}
	}
}

func uniform(bound float64) initializer {
	return func(values []float32, stream *rand.Rand) {
		for i := range values {
			values[i] = float32((2*stream.Float64() - 1) * bound)
		}
	}
}

// share is uniform in [0, 1).
func share(values []float32, stream *rand.Rand) {
	for i := range values {
		values[i] = stream.Float32()
	}
}

// identityMatrix has ones on the diagonal of a square.
func identityMatrix(values []float32, _ *rand.Rand) {
	side := int(math.Sqrt(float64(len(values))))
	for i := range side {
		values[i*side+i] = 1
	}
}

// around is uniform in centre ± bound.
func around(centre, bound float64) initializer {
	return func(values []float32, stream *rand.Rand) {
		for i := range values {
			values[i] = float32(centre + (2*stream.Float64()-1)*bound)
		}
	}
}
