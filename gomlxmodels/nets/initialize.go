package nets

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// An initializer fills a new tensor.
type initializer func(values []float32, stream *rand.Rand)

// Initial says which first values the tensors of a network get.
type Initial string

const (
	initialOwn Initial = "own" // those of the network's definition, as Initialize has them; empty for it
	// initialIBP is for training on interval bounds: kernels normal with mean 0 and deviation
	// √(2π)/n for n inputs of an output, biases 0, the rest as by "own" (Shi et al. 2021,
	// arXiv 2103.17268). As E|w| is 2/n, a layer doubles the mean width of intervals, and a ReLU
	// halves it: widths keep their size on average. By a kernel uniform in ±1/√n they change by
	// √n/4 from layer to layer.
	initialIBP Initial = "ibp"
)

// Initials lists them.
func Initials() []Initial { return []Initial{initialOwn, initialIBP} }

// As is a tensor whose Initialize draws other first values.
func (t Tensor) As(initial Initial) Tensor {
	if initial == initialIBP && t.ibp != nil {
		t.init = t.ibp
	}
	return t
}

// Initialize draws the first values of a tensor. A convolution gets normal values of variance 2/(k²·outputs), a dense
// layer uniform ones in ±1/√inputs. Scales and variances are 1, shifts and means 0. They depend on seed and on the name
// of the tensor alone.
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
