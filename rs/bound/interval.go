package bound

import "fmt"

// ClopperPearson is the exact bound on the probability p of a hit from the number of hits in a
// fixed number of trials (Clopper and Pearson 1934), with the failure probability Alpha.
type ClopperPearson struct{ Alpha float64 }

func (ClopperPearson) Name() string { return "Clopper-Pearson" }

func (c ClopperPearson) String() string { return fmt.Sprintf("%s at α = %g", c.Name(), c.Alpha) }

// Lower is the function Lower at level Alpha.
func (c ClopperPearson) Lower(k, n int) (Probability, error) { return Lower(k, n, c.Alpha) }

// Upper is the function Upper at level Alpha.
func (c ClopperPearson) Upper(k, n int) (Probability, error) { return Upper(k, n, c.Alpha) }

// Interval returns lower and upper, each at level Alpha/2, so that both hold together with probability at
// least 1−Alpha. Errors: as of Lower.
func (c ClopperPearson) Interval(k, n int) (lower, upper Probability, err error) {
	if err := checkAlpha(c.Alpha); err != nil {
		return lower, upper, err
	}
	if lower, err = Lower(k, n, c.Alpha/2); err != nil {
		return lower, upper, err
	}
	upper, err = Upper(k, n, c.Alpha/2)
	return lower, upper, err
}
