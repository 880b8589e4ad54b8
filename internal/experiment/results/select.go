package results

import (
	"errors"
	"fmt"
	"slices"
)

// candidate is a model in a comparison at one radius. Its numbers are of one unit, fractions or percent.
type candidate struct {
	Method   string  // how it was trained
	Accuracy float64 // certified
	CCE, CBS float64
}

// selection is the best of a method among models of comparable accuracy.
type selection struct {
	Method string
	Models int // of comparable accuracy
	// The smallest of each, which need not be of one model, and the places of their candidates.
	CCE, CBS     float64
	CCEOf, CBSOf int
}

// selectByAccuracy compares methods by their models of nearly the best accuracy (Emde et al. 2025, tables 2 and 6 to
// 10). With A the largest certified accuracy of all candidates, it keeps those with at least A − tolerance. For each
// method, in the order of their first candidates, it returns the smallest CCE and the smallest CBS. A method without a
// model left has 0 models, and no numbers. The rule favours no method by itself. But a method that raises A takes from
// the others the models that bought calibration with accuracy.
//
// Errors: no candidates; a negative or infinite tolerance; an accuracy, CCE or CBS that is not finite and at least 0.
func selectByAccuracy(candidates []candidate, tolerance float64) ([]selection, error) {
	if len(candidates) == 0 {
		return nil, errors.New("experiment: no models to select from")
	}
	if !isSize(tolerance) {
		return nil, fmt.Errorf("experiment: tolerance %v of a selection by accuracy; expected a finite number "+
			"of at least 0", tolerance)
	}
	best := 0.0
	for i, c := range candidates {
		if !isSize(c.Accuracy) || !isSize(c.CCE) || !isSize(c.CBS) {
			return nil, fmt.Errorf("experiment: model %d of a selection by accuracy is %v; expected finite numbers of at "+
				"least 0", i, c)
		}
		best = max(best, c.Accuracy)
	}
	var methods []selection
	for i, c := range candidates {
		k := slices.IndexFunc(methods, func(s selection) bool { return s.Method == c.Method })
		if k < 0 {
			k = len(methods)
			methods = append(methods, selection{Method: c.Method})
		}
		if c.Accuracy < best-tolerance {
			continue
		}
		m := &methods[k]
		if m.Models == 0 || c.CCE < m.CCE {
			m.CCE, m.CCEOf = c.CCE, i
		}
		if m.Models == 0 || c.CBS < m.CBS {
			m.CBS, m.CBSOf = c.CBS, i
		}
		m.Models++
	}
	return methods, nil
}

// isSize reports whether x is finite and at least 0.
func isSize(x float64) bool { return x >= 0 && x-x == 0 }
