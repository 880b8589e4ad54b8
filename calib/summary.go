package calib

// Summary describes the calibration of a model by the certified intervals of its confidences.
type Summary struct {
	N       int     `json:"n"`
	Bins    int     `json:"bins,omitempty"`
	CCE     float64 `json:"cce"`      // largest expected calibration error inside the intervals, exactly (ExactCCE)
	CBS     float64 `json:"cbs"`      // largest Brier score inside them (CertifiedBrier)
	MeanGap float64 `json:"mean_gap"` // largest mean gap between confidence and correctness inside them
	// ECE of the confidences at which the Brier score is largest, which is no bound.
	BrierECE  float64 `json:"ece_of_brier_confidences"`
	MeanWidth float64 `json:"mean_width"` // of the intervals
	// Of the confidences as they are; nil: none were given.
	ECE   *float64 `json:"ece,omitempty"`
	Brier *float64 `json:"brier,omitempty"`
}

// Summarize takes all bounds of samples with certified intervals [lower, upper] at once; confidence may be nil. The
// second value says where the calibration error is largest.
//
// Errors: those of ExactCCE, ECE and Brier.
func Summarize(correct []bool, confidence, lower, upper []float64, bins *Bins) (Summary, Worst, error) {
	s := Summary{N: len(correct), Bins: bins.Len()}
	worst, err := new(Workspace).ExactCCE(correct, lower, upper, bins)
	if err != nil {
		return s, worst, err
	}
	s.CCE = worst.CCE
	if s.CBS, s.MeanGap, err = CertifiedBrier(correct, lower, upper); err != nil {
		return s, worst, err
	}
	z := make([]float64, len(correct))
	BrierConfidences(z, correct, lower, upper)
	if s.BrierECE, err = ECE(correct, z, bins); err != nil {
		return s, worst, err
	}
	for i, l := range lower {
		s.MeanWidth += (upper[i] - l) / float64(s.N)
	}
	if confidence == nil {
		return s, worst, nil
	}
	ece, err := ECE(correct, confidence, bins)
	if err != nil {
		return s, worst, err
	}
	brier, err := Brier(correct, confidence)
	s.ECE, s.Brier = &ece, &brier
	return s, worst, err
}
