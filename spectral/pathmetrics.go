package spectral

import (
	"fmt"
	"math"
	"math/cmplx"

	fft "gonum.org/v1/gonum/dsp/fourier"
)

// fractions computes HFFs, and keeps what paths of equal length share. That is the measure of Fridovich-Keil et al.
// (2022) of the predictions along a path: probabilities of N points, row by row, N ≥ 4. With the real transform P̂ of
// each class along the path and K = ⌊N/2⌋+1 bins,
//
//	S_k = mean over classes of |P̂_k|,  HFF = Σ_{k=⌈K/10⌉}^{K−2} S_k / Σ_{k=0}^{K−1} S_k.
//
// This is their released code, which leaves the last bin out of the upper sum. keepLast takes it in, as the paper does.
// HFF is in [0, 1), and between .27 and .32 for a path that goes once from one class to another.
type fractions struct {
	classes  int
	keepLast bool
	plans    map[int]*fft.FFT
	line     []float64
	bins     []complex128
	sums     []float64
}

func newFractions(classes int, keepLast bool) *fractions {
	return &fractions{classes: classes, keepLast: keepLast, plans: map[int]*fft.FFT{}}
}

func (f *fractions) of(predictions []float64) (float64, error) {
	n := len(predictions) / f.classes
	plan := f.plans[n]
	if plan == nil {
		plan = fft.NewFFT(n)
		f.plans[n] = plan
	}
	bins := n/2 + 1
	f.line, f.bins, f.sums = sized(f.line, n), sized(f.bins, bins), sized(f.sums, bins)
	clear(f.sums)
	for c := range f.classes {
		for j := range f.line {
			f.line[j] = predictions[j*f.classes+c]
		}
		for k, z := range plan.Coefficients(f.bins, f.line) {
			f.sums[k] += cmplx.Abs(z)
		}
	}
	last := bins - 1
	if f.keepLast {
		last = bins
	}
	above, all := 0.0, 0.0
	for k, s := range f.sums {
		if all += s; k >= (bins+9)/10 && k < last {
			above += s
		}
	}
	if !(all > 0) || math.IsInf(all, 0) {
		return 0, &InputError{"path", "predictions whose magnitudes add up to " + fmt.Sprint(all), "probabilities"}
	}
	return above / all, nil
}

// sized is a slice of n values, s where that is long enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// consistentDistance is the CD of Fridovich-Keil et al. (2022): the number of the first point of a path whose class is
// not that of point 0, or the number of points if there is none. Later points do not count.
func consistentDistance(classes []int32) int {
	for j, c := range classes {
		if c != classes[0] {
			return j
		}
	}
	return len(classes)
}
