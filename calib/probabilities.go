package calib

import (
	"fmt"
	"math"
)

// Probabilities are whole rows of predicted class probabilities with their true classes.
type Probabilities struct {
	Classes int       // K, at least 2
	Labels  []int     // true classes, N of them, in [0, K)
	P       []float64 // N·K probabilities, row by row
}

// rowTolerance is how far the sum of a row may be from 1: what float32 arithmetic over many classes leaves.
const rowTolerance = 1e-3

// Check reports the first fault: a length that does not fit, no rows (ErrNoSamples), a label that is no class, a
// probability outside [0, 1], or a row whose sum is further than 0.001 from 1 (*InputError).
func (p Probabilities) Check() error {
	if p.Classes < 2 {
		return inputError("Classes", p.Classes, "at least 2 classes")
	}
	if len(p.P) != len(p.Labels)*p.Classes {
		return inputError("len(P)", len(p.P), fmt.Sprintf("len(Labels)·Classes = %d", len(p.Labels)*p.Classes))
	}
	if len(p.Labels) == 0 {
		return ErrNoSamples
	}
	for i, label := range p.Labels {
		if label < 0 || label >= p.Classes {
			return inputError(fmt.Sprintf("Labels[%d]", i), label, fmt.Sprintf("a class in [0, %d)", p.Classes))
		}
		total := 0.0
		for k, v := range p.row(i) {
			if !(v >= 0 && v <= 1) {
				return valueError("P", i*p.Classes+k, v)
			}
			total += v
		}
		if !(math.Abs(total-1) <= rowTolerance) {
			return inputError(fmt.Sprintf("the sum of row %d", i), total, fmt.Sprintf("1, to within %v", rowTolerance))
		}
	}
	return nil
}

func (p Probabilities) row(i int) []float64 { return p.P[i*p.Classes : (i+1)*p.Classes] }

// TopLabel returns correctness and confidence of the most probable class of each row; of equal ones, the
// lowest.
//
// Errors: those of Check.
func (p Probabilities) TopLabel() (correct []bool, confidence []float64, err error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	for i, label := range p.Labels {
		row, top := p.row(i), 0
		for k, v := range row {
			if v > row[top] {
				top = k
			}
		}
		correct = append(correct, top == label)
		confidence = append(confidence, row[top])
	}
	return correct, confidence, nil
}

// NLL returns the negative log likelihood −1/N · Σ ln p_i(y_i) of the true classes, in nats; +Inf where one
// has probability 0.
//
// Errors: those of Check.
func (p Probabilities) NLL() (float64, error) {
	if err := p.Check(); err != nil {
		return 0, err
	}
	total := 0.0
	for i, label := range p.Labels {
		total -= math.Log(p.row(i)[label])
	}
	return max(0, total/float64(len(p.Labels))), nil // −0 becomes 0
}

// ClasswiseECE returns the mean over the classes k of the ECE of the probability of k, as a confidence that the true
// class is k (Kull et al. 2019; static calibration error of Nixon et al. 2019).
//
// Errors: those of Check.
func (p Probabilities) ClasswiseECE(bins *Bins) (float64, error) {
	if err := p.Check(); err != nil {
		return 0, err
	}
	confidence, event := make([]float64, len(p.Labels)), make([]bool, len(p.Labels))
	total := 0.0
	for k := range p.Classes {
		for i, label := range p.Labels {
			confidence[i], event[i] = p.row(i)[k], label == k
		}
		ece, err := ECE(event, confidence, bins)
		if err != nil {
			return 0, err
		}
		total += ece
	}
	return total / float64(p.Classes), nil
}
