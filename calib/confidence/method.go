package confidence

import "fmt"

// Method is a certificate on the mean score.
type Method string

const (
	MethodCDF      Method = "cdf"      // from the distribution of the scores, see Shift.CDF
	MethodStandard Method = "standard" // from their mean, see Standard
)

// ParseMethod reads a method; empty is MethodCDF, which is the tighter one.
//
// Errors: another name, as *InputError.
func ParseMethod(name string) (Method, error) {
	switch m := Method(name); m {
	case "":
		return MethodCDF, nil
	case MethodCDF, MethodStandard:
		return m, nil
	}
	return "", inputError("method", fmt.Sprintf("%q", name), "cdf or standard")
}

// Mode says which mean score is the confidence of the smoothed classifier.
type Mode string

const (
	modeIndex Mode = "index" // confidence in the class which the hard votes certify, constant within its radius
	modeMax   Mode = "max"   // the largest of all classes, see OfTop
)

// ParseMode reads a mode; empty is "index".
//
// Errors: another name, as *InputError.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case "":
		return modeIndex, nil
	case modeIndex, modeMax:
		return m, nil
	}
	return "", inputError("mode", fmt.Sprintf("%q", name), "index or max")
}

// ParseSpending reads a way to divide α; empty is "paper".
//
// Errors: another name, as *InputError.
func ParseSpending(name string) (Spending, error) {
	switch s := Spending(name); s {
	case "":
		return paper, nil
	case paper, split, family:
		return s, nil
	}
	return "", inputError("spending", fmt.Sprintf("%q", name), "paper, split or family")
}
