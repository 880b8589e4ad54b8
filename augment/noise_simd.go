//go:build goexperiment.simd && amd64

package augment

import "simd/archsimd"

// vector says whether a vector form runs, and wide whether it is that of vectors of 512 bits.
var vector, wide = archsimd.X86.AVX2(), archsimd.X86.AVX512()

func (l noiseLaw) amplitudesVector(dst []float64, words []byte) int {
	switch {
	case !vector:
		return 0
	case wide:
		return l.amplitudes512(dst, words)
	}
	return l.amplitudes256(dst, words)
}

func (l noiseLaw) phasesVector(dst []float64, words []byte) int {
	switch {
	case !vector:
		return 0
	case wide:
		return l.phases512(dst, words)
	}
	return l.phases256(dst, words)
}

func quantilesVector(values, terms []float64) int {
	switch {
	case !vector:
		return 0
	case wide:
		return quantiles512(values, terms)
	}
	return quantiles256(values, terms)
}

func addTurnedVector(re, im, amplitude, phase []float64, g float64, sine, cosine []float64) int {
	switch {
	case !vector:
		return 0
	case wide:
		return addTurned512(re, im, amplitude, phase, g, sine, cosine)
	}
	return addTurned256(re, im, amplitude, phase, g, sine, cosine)
}
