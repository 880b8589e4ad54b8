package calib

import "math"

// Metrics are the errors and scores of confidences.
type Metrics struct {
	N              int      `json:"n"`
	Accuracy       float64  `json:"accuracy"`
	ECE            float64  `json:"ece"`
	AdaECE         float64  `json:"adaece"`
	Brier          float64  `json:"brier"`
	LogLoss        *float64 `json:"log_loss"` // nil: infinite, as a sample is certain and wrong
	AdaECEQuantile float64  `json:"adaece_quantile"`
	SmoothECE      float64  `json:"smooth_ece"`
	DebiasedECE    float64  `json:"debiased_ece"`
	MCE            float64  `json:"mce"`
}

// Measure takes all metrics of confidences at once: those over bins, AdaECE and AdaECEQuantile over as many bins, and
// those without bins. Intervals gives their intervals.
//
// Errors: those of CheckConfidences.
func Measure(correct []bool, confidence []float64, bins *Bins) (m Metrics, err error) {
	if err = CheckConfidences(correct, confidence); err != nil {
		return m, err
	}
	m.N = len(correct)
	loss := 0.0
	for _, metric := range []struct {
		value *float64
		of    func() (float64, error)
	}{
		{&m.Accuracy, func() (float64, error) { return Accuracy(correct) }},
		{&m.ECE, func() (float64, error) { return ECE(correct, confidence, bins) }},
		{&m.AdaECE, func() (float64, error) { return AdaECE(correct, confidence, bins.Len()) }},
		{&m.AdaECEQuantile, func() (float64, error) { return adaECEQuantile(correct, confidence, bins.Len()) }},
		{&m.SmoothECE, func() (float64, error) {
			value, _, err := SmoothECE(correct, confidence)
			return value, err
		}},
		{&m.DebiasedECE, func() (float64, error) { return debiasedECE(correct, confidence, bins) }},
		{&m.MCE, func() (float64, error) { return mce(correct, confidence, bins) }},
		{&m.Brier, func() (float64, error) { return Brier(correct, confidence) }},
		{&loss, func() (float64, error) { return logLoss(correct, confidence) }},
	} {
		if *metric.value, err = metric.of(); err != nil {
			return m, err
		}
	}
	if !math.IsInf(loss, 1) {
		m.LogLoss = &loss
	}
	return m, nil
}
