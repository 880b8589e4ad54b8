package preflight

import (
	"fmt"

	"github.com/certspec/certspec/classifier/purity"
)

// checkFunction judges the comparisons of answers to the same image.
func checkFunction(f purity.Found) Check {
	c := Check{Name: "same input, same answer", Verdict: OK, Found: sentence(f.String())}
	switch {
	case f.Contradicted():
		c.Verdict = Failure
		c.Advice = "Switch the model to evaluation, without dropout or other randomness, and batch normalisation with stored averages: a certificate is about a function of one image."
	case f.Changed > 0 || f.Again > 0:
		c.Verdict = Warning
		c.Found = fmt.Sprintf("Answers differ by rounding: logits or scores up to %.2g of the tolerance apart, and %d other classes in %d comparisons.", f.Largest, f.Changed, f.Comparisons)
		c.Advice = "Nothing need be done; a replay of the ledger may differ in near-ties."
	}
	return c
}
