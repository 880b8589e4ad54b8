package confidence

import "fmt"

// Method is a certificate on the mean score.
type Method string

const (
	MethodCDF      Method = "cdf"      // from the distribution of the scores, see Shift.CDF
	MethodStandard Method = "standard" // from their mean, see Standard
)

// Checked is the method itself; empty is MethodCDF, which is the tighter one.
//
// Errors: another name, as *InputError.
func (m Method) Checked() (Method, error) {
	switch m {
	case "":
		return MethodCDF, nil
	case MethodCDF, MethodStandard:
		return m, nil
	}
	return "", inputError("method", fmt.Sprintf("%q", m), "cdf or standard")
}

// Mode says which mean score is the confidence of the smoothed classifier.
type Mode string

const (
	modeIndex Mode = "index" // confidence in the class which the hard votes certify, constant within its radius
	modeMax   Mode = "max"   // the largest of all classes, see OfTop
)

// Checked is the mode itself; empty is "index".
//
// Errors: another name, as *InputError.
func (m Mode) Checked() (Mode, error) {
	switch m {
	case "":
		return modeIndex, nil
	case modeIndex, modeMax:
		return m, nil
	}
	return "", inputError("mode", fmt.Sprintf("%q", m), "index or max")
}

// Checked is the way to divide α itself; empty is "paper".
//
// Errors: another name, as *InputError.
func (s Spending) Checked() (Spending, error) {
	switch s {
	case "":
		return paper, nil
	case paper, split, family:
		return s, nil
	}
	return "", inputError("spending", fmt.Sprintf("%q", s), "paper, split or family")
}
