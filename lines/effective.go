package lines

import "fmt"

// Effective is how far a model stands above a line at its own x.
type Effective struct {
	Predicted float64 `json:"predicted"` // Φ(line at x): the accuracy that the line gives the model
	Accuracy  float64 `json:"accuracy"`  // y − predicted, in accuracy (0.01 is one point)
	Residual  float64 `json:"residual"`  // Φ⁻¹(y) − line, in probit units
}

// EffectiveRobustness is ER(f) = acc_shift(f) − Φ(m·Φ⁻¹(acc(f)) + b) over the line of a baseline (Taori et al. 2020,
// with probit in place of their logit, as in Miller et al. 2021). x and y are the model's two accuracies. The clip
// applies to both before the probit, and to y in the residual only.
//
// Errors: accuracies that have no probit.
func EffectiveRobustness(baseline Line, x, y Accuracy, clip Clip) (Effective, error) {
	px, err := clip.share(x)
	if err != nil {
		return Effective{}, fmt.Errorf("lines: x: %w", err)
	}
	py, err := clip.share(y)
	if err != nil {
		return Effective{}, fmt.Errorf("lines: y: %w", err)
	}
	at := baseline.At(Probit(px))
	return Effective{Predicted: Phi(at), Accuracy: y.Share - Phi(at), Residual: Probit(py) - at}, nil
}
