package calib

// Resolution returns how far the accuracies of the bins are from that of all samples,
//
//	Σ_m n_m/n · (acc_m − acc)²,
//
// the part of Murphy's (1973) decomposition of the Brier score that a constant confidence does not have. It is 0 for a
// constant, and larger the more the confidence tells.
//
// Errors: those of CheckConfidences.
func Resolution(correct []bool, confidence []float64, bins *Bins) (float64, error) {
	all, err := Reliability(correct, confidence, bins)
	if err != nil {
		return 0, err
	}
	mean, err := Accuracy(correct)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, b := range all {
		if b.Count > 0 {
			sum += float64(b.Count) * (b.Accuracy - mean) * (b.Accuracy - mean)
		}
	}
	return sum / float64(len(correct)), nil
}
