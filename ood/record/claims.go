package record

import (
	"fmt"
	"math"
)

// vacuous is ln .999, above which a bound says nothing.
const vacuous = -0.00100050033358

// Claim derives the claims of lines.
func (h *Header) Claim(lines []Line) Claims {
	c := Claims{Images: len(lines)}
	var clean, most float64
	for _, l := range lines {
		if l.Label >= 0 {
			c.Labels++
			if l.Class == l.Label && !math.IsNaN(l.Log) {
				c.Correct++
			}
		}
		if math.IsNaN(l.Log) {
			c.NaN++
		} else {
			clean += math.Exp(l.Log)
		}
		top := l.Upper
		if h.Attack != nil {
			top = l.Attacked
		} else if l.Upper > vacuous {
			c.Vacuous++
		}
		if math.IsNaN(top) || math.IsNaN(l.Log) {
			top = 0
		}
		most += math.Exp(top)
	}
	const digits, slack = 1e9, 1e-11 // slack: of exp and of the sum
	if n := len(lines) - c.NaN; n > 0 {
		c.MeanConfidence = fmt.Sprintf("%.9f", math.Round(clean/float64(n)*digits)/digits)
	}
	if len(lines) > 0 {
		mean := most / float64(len(lines))
		if h.Attack == nil {
			mean = min(math.Ceil((mean+slack)*digits)/digits, 1)
		}
		c.Mean = fmt.Sprintf("%.9f", mean)
	}
	return c
}

// text is the lines from "claims" on, without the digest.
func (h *Header) text(c Claims) []byte {
	b := fmt.Appendf(nil, "claims %d\nnan %d\n", c.Images, c.NaN)
	if c.Labels > 0 {
		b = fmt.Appendf(b, "accuracy %d %d\n", c.Correct, c.Labels)
	}
	if c.MeanConfidence != "" {
		b = fmt.Appendf(b, "mean_confidence %s\n", c.MeanConfidence)
	}
	if h.Attack != nil {
		return fmt.Appendf(b, "mean_attacked %s\n", c.Mean)
	}
	return fmt.Appendf(b, "mean_bound %s\nvacuous %d\n", c.Mean, c.Vacuous)
}
