package rs

import (
	"fmt"

	"github.com/certspec/certspec/internal/printable"
)

// mostInvalid is the share of noise samples without a finite output that passes without a warning.
const mostInvalid = 0.01

// Outputs reports that many of a model's answers to noise samples were not finite. More than 1 % of them is a warning.
// All of them is an error, since nothing can be certified then.
func Outputs(model string, misses, samples int) (warning string, err error) {
	switch {
	case samples == 0:
		return "", nil
	case misses == samples:
		return "", fmt.Errorf("rs: model %s gives no finite output for any of %d noise samples (NaN or infinity), "+
			"so that nothing can be certified; look for weights that are not finite, a division by zero, or an "+
			"overflow of 16-bit numbers", model, samples)
	case float64(misses) > mostInvalid*float64(samples):
		return fmt.Sprintf("model %s gives no finite output for %s of %s noise samples (%.1f %%); they count "+
			"against every certificate", model, printable.Count(misses), printable.Count(samples),
			100*float64(misses)/float64(samples)), nil
	}
	return "", nil
}

// Outputs says what is wrong with the outputs of the model of a run; see the function.
func (r *Run) Outputs() (warning string, err error) {
	return Outputs(r.Header.Model.Name, r.Misses(), r.Passes())
}
