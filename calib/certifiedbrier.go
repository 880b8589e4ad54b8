package calib

// BrierConfidences writes into dst the confidences inside the intervals that maximise the Brier score (Emde et al.
// 2025, section 3). A correct sample gets its lower end, a wrong one its upper end. Their ECE is no bound on the ECE:
// it may be below the score of the clean confidences. The slices have one length.
func BrierConfidences(dst []float64, correct []bool, lower, upper []float64) {
	for i, c := range correct {
		if c {
			dst[i] = lower[i]
		} else {
			dst[i] = upper[i]
		}
	}
}

// CertifiedBrier returns the largest Brier score and the largest mean gap that confidences inside the intervals can
// have,
//
//	CBS = 1/N · Σ [c_i (1−l_i)² + (1−c_i) u_i²],   G = 1/N · Σ [c_i (1−l_i) + (1−c_i) u_i],
//
// both in [0, 1] and rounded up (Emde et al. 2025, equation 3). For every feasible z, ECE(z) ≤ CCE ≤ G ≤ √CBS, where
// CCE is the result of ExactCCE.
//
// Errors: those of CheckIntervals.
func CertifiedBrier(correct []bool, lower, upper []float64) (cbs, gap float64, err error) {
	if err := CheckIntervals(correct, lower, upper); err != nil {
		return 0, 0, err
	}
	for i, c := range correct {
		worst := upper[i]
		if c {
			worst = 1 - lower[i]
		}
		cbs += float64(worst * worst)
		gap += worst
	}
	return meanUp(cbs, len(correct)), meanUp(gap, len(correct)), nil
}

// unit is the rounding error of one operation, relative to its result.
const unit = 0x1p-53

// meanUp returns an upper bound on the mean of n numbers in [0, 1] of which each has been computed with at
// most three roundings, from their sum as computed one after the other, which has a relative error of at most
// (n−1)·unit/(1−n·unit).
func meanUp(sum float64, n int) float64 {
	return min(1, sum/float64(n)*(1+float64(n+16)*2*unit))
}
