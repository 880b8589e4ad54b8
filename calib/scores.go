package calib

import "math"

// Accuracy returns the fraction of samples that are correct.
//
// Errors: ErrNoSamples.
func Accuracy(correct []bool) (float64, error) {
	if len(correct) == 0 {
		return 0, ErrNoSamples
	}
	hits := 0
	for _, c := range correct {
		hits += int(bit(c))
	}
	return float64(hits) / float64(len(correct)), nil
}

// Brier returns the top-label Brier score 1/N · Σ (z_i − c_i)², in [0, 1] (Brier 1950).
//
// Errors: those of CheckConfidences.
func Brier(correct []bool, confidence []float64) (float64, error) {
	if err := CheckConfidences(correct, confidence); err != nil {
		return 0, err
	}
	total := 0.0
	for i, z := range confidence {
		d := z - float64(bit(correct[i]))
		total += float64(d * d)
	}
	return total / float64(len(correct)), nil
}

// logLoss returns the top-label log loss −1/N · Σ [c_i ln z_i + (1−c_i) ln(1−z_i)], in nats. It is +Inf
// where a sample has confidence 0 and is correct, or confidence 1 and is not.
//
// Errors: those of CheckConfidences.
func logLoss(correct []bool, confidence []float64) (float64, error) {
	if err := CheckConfidences(correct, confidence); err != nil {
		return 0, err
	}
	total := 0.0
	for i, z := range confidence {
		if correct[i] {
			total -= math.Log(z)
		} else {
			total -= math.Log1p(-z)
		}
	}
	return max(0, total/float64(len(correct))), nil // −0 becomes 0
}
