package confidence

import (
	"fmt"

	"github.com/certspec/certspec/calib"
)

// Distribution holds counts of the n scores of one image at thresholds 0 = s_0 < s_1 < … < s_J = 1. A score is not
// known where the model's output was not finite. It counts as 0 in AtLeast and as 1 in Above.
type Distribution struct {
	N          int       // scores
	Thresholds []float64 // s_j, J+1 of them
	AtLeast    []int     // #{i : h_i ≥ s_j}; all of them at s_0 = 0
	Above      []int     // #{i : h_i > s_j}; none, or the unknown ones, at s_J = 1
}

// Check reports the first fault of the thresholds or the counts, as *InputError.
func (d *Distribution) Check() error {
	last := len(d.Thresholds) - 1
	if d.N < 1 {
		return inputError("N", d.N, "at least 1 score")
	}
	if last < 1 || d.Thresholds[0] != 0 || d.Thresholds[last] != 1 {
		return inputError("Thresholds", d.Thresholds, "0 first and 1 last")
	}
	if len(d.AtLeast) != last+1 || len(d.Above) != last+1 {
		return inputError("counts", fmt.Sprintf("%d and %d", len(d.AtLeast), len(d.Above)),
			fmt.Sprintf("one per threshold, %d", last+1))
	}
	for j, s := range d.Thresholds {
		before, above := d.N, d.N
		if j > 0 {
			if !(s > d.Thresholds[j-1]) {
				return inputError(fmt.Sprintf("Thresholds[%d]", j), s, fmt.Sprintf("more than the one before it, %v",
					d.Thresholds[j-1]))
			}
			before, above = d.AtLeast[j-1], d.Above[j-1]
		}
		if n := d.AtLeast[j]; n < 0 || n > before {
			return inputError(fmt.Sprintf("AtLeast[%d]", j), n, fmt.Sprintf("a count in [0, %d]", before))
		}
		if n := d.Above[j]; n < 0 || n > above {
			return inputError(fmt.Sprintf("Above[%d]", j), n, fmt.Sprintf("a count in [0, %d]", above))
		}
	}
	if d.AtLeast[0] != d.N {
		return inputError("AtLeast[0]", d.AtLeast[0], fmt.Sprintf("all scores, %d", d.N))
	}
	return nil
}

// Band prepares the certificate of n scores with half-width ε: the quantiles Φ⁻¹(k/n − ε) of all counts k, from
// which At tabulates the Gaussian shift. It serves all images with that n, at all radii.
type Band struct {
	n         int
	quantiles []float64
}

// NewBand returns the band of n scores.
//
// Errors: n < 1; ε negative or not finite; as *InputError.
func NewBand(n int, halfWidth float64) (*Band, error) {
	if n < 1 {
		return nil, inputError("n", n, "at least 1 score")
	}
	if err := checkBand(halfWidth, 0); err != nil {
		return nil, err
	}
	b := &Band{n: n, quantiles: make([]float64, n+1)}
	for k := range b.quantiles {
		p := 1.
		if k < n {
			p = down(float64(k) / float64(n))
		}
		b.quantiles[k] = quantile(less(p, halfWidth))
	}
	return b, nil
}

// Shift is the Gaussian shift of all counts of a band, at one radius. It may be used by many goroutines.
type Shift struct {
	n    int
	tail []float64 // per count k, sh(max(0, k/n − ε), −t), rounded down
}

// At returns the table for t = R/σ.
//
// Errors: t negative or not finite, as *InputError.
func (b *Band) At(t float64) (*Shift, error) {
	if err := checkShift(t); err != nil {
		return nil, err
	}
	s := &Shift{n: b.n, tail: make([]float64, b.n+1)}
	for k, x := range b.quantiles {
		s.tail[k] = shiftedTail(x, t)
	}
	return s, nil
}

// CDF returns the certificate on the mean score from its distribution (Emde et al. 2025, equation 13, in the
// strict form):
//
//	l = Σ_{j=1..J} (s_j − s_{j−1}) sh(max(0, AtLeast_j/n − ε), −t),
//	u = Σ_{j=0..J−1} (s_{j+1} − s_j) sh(min(1, Above_j/n + ε), +t),
//
// since P[h ≥ s] lies between the true probabilities at the thresholds about s, and each of these moves at most
// by the Gaussian shift. The band holds at all thresholds together, so that they may depend on the scores. With
// every score as a threshold the interval lies inside that of Standard.
//
// Errors: those of Distribution.Check; N other than the band's; as *InputError.
func (s *Shift) CDF(d *Distribution) (calib.Bounds, error) {
	if err := d.Check(); err != nil {
		return calib.Bounds{}, err
	}
	if d.N != s.n {
		return calib.Bounds{}, inputError("N", d.N, fmt.Sprintf("that of the band, %d", s.n))
	}
	return s.cdf(d), nil
}

func (s *Shift) cdf(d *Distribution) calib.Bounds {
	// 1 − sh(p, +t) = sh(1−p, −t): one table serves both sides.
	low, high, last := 0., 0., len(d.Thresholds)-1
	for j := 1; j <= last; j++ {
		width := d.Thresholds[j] - d.Thresholds[j-1]
		low += float64(width * s.tail[d.AtLeast[j]])
		high += float64(width * s.tail[s.n-d.Above[j-1]])
	}
	// Each sum of J terms of at most 1 in all has an error of at most (J+2)·2⁻⁵³ relative to it.
	slack := 1 - float64(last+4)*0x1p-52
	return calib.Bounds{Lower: low * slack, Upper: up(1 - high*slack)}
}
