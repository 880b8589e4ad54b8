package calib

import (
	"fmt"
	"slices"
)

// FitRecalibration fits a map. For a non-decreasing g the largest Brier score inside the intervals is at the lower ends
// of correct samples and the upper ends of wrong ones. So both objectives are fits to points: the confidences, or these
// ends. A slope that would be negative is 0; a map of slope 0 is a constant. An isotonic map is the least-squares one
// of pool-adjacent-violators, which minimises the log-likelihood, too. lower and upper may be nil for NLL.
//
// Errors: those of CheckConfidences and CheckIntervals; an unknown method or objective; samples that are all correct or
// all wrong, as *InputError.
func FitRecalibration(method Method, objective Objective, correct []bool, confidence, lower,
	upper []float64) (*Recalibration, error) {
	z := confidence
	switch objective {
	case NLL:
		if err := CheckConfidences(correct, confidence); err != nil {
			return nil, err
		}
	case CertifiedBrierLoss:
		if err := CheckIntervals(correct, lower, upper); err != nil {
			return nil, err
		}
		z = make([]float64, len(correct))
		BrierConfidences(z, correct, lower, upper)
	default:
		return nil, inputError("objective", objective, fmt.Sprintf("%q or %q", NLL, CertifiedBrierLoss))
	}
	if !slices.Contains(correct, true) || !slices.Contains(correct, false) {
		return nil, inputError("samples", len(correct),
			"right and wrong ones, since a map cannot be fitted to one kind")
	}
	r := &Recalibration{Method: method, Objective: objective}
	up, down := make([]float64, len(z)), make([]float64, len(z)) // ln z, −ln(1−z)
	for i, v := range z {
		up[i], down[i] = logs(v)
	}
	logits := make([]float64, len(z))
	for i := range logits {
		logits[i] = up[i] + down[i]
	}
	switch method {
	case Platt:
		w, c := fitLogistic([][]float64{logits}, true, correct, objective)
		r.A, r.B, r.C = w[0], w[0], c
	case Temperature:
		w, _ := fitLogistic([][]float64{logits}, false, correct, objective)
		r.A, r.B = w[0], w[0]
	case Beta:
		w, c := fitLogistic([][]float64{logits}, true, correct, objective)
		// from Platt's, which it contains
		w, c = fitLogistic([][]float64{up, down}, true, correct, objective, []float64{w[0], w[0], c})
		r.A, r.B, r.C = w[0], w[1], c
	case Isotonic:
		r.From, r.Value = poolAdjacent(z, correct)
	default:
		return nil, inputError("method", method, fmt.Sprintf("%q, %q, %q or %q", Platt, Temperature, Beta, Isotonic))
	}
	return r, nil
}

// poolAdjacent is the non-decreasing step function with the least squares to the samples (Ayer et
// al. 1955). It begins at 0.
func poolAdjacent(z []float64, correct []bool) (from, value []float64) {
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case z[a] < z[b]:
			return -1
		case z[a] > z[b]:
			return 1
		}
		return 0
	})
	type block struct{ from, hits, n float64 }
	var blocks []block
	for _, i := range order {
		b := block{z[i], 0, 1}
		if correct[i] {
			b.hits = 1
		}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.from != b.from && last.hits*b.n < b.hits*last.n {
				break
			}
			b = block{last.from, last.hits + b.hits, last.n + b.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	blocks[0].from = 0
	for _, b := range blocks {
		from, value = append(from, b.from), append(value, b.hits/b.n)
	}
	return from, value
}
