//go:build !(goexperiment.simd && amd64)

package augment

func (l noiseLaw) amplitudesVector(dst []float64, words []byte) int { return 0 }

func (l noiseLaw) phasesVector(dst []float64, words []byte) int { return 0 }

func quantilesVector(values, terms []float64) int { return 0 }

func addTurnedVector(re, im, amplitude, phase []float64, g float64, sine, cosine []float64) int {
	return 0
}
