package stopping

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// certificate is bound.Certificate for a σ that was checked.
func certificate(sigma float64, p bound.Probability) (lower, radius float64) {
	lower, radius, err := bound.Certificate(sigma, p)
	if err != nil {
		panic("rule: " + err.Error())
	}
	return lower, radius
}

// Claim is the outcome of an image as a closed ledger states it.
func Claim(o rule.Outcome, image int) ledger.Claim {
	return ledger.Claim{Image: image, Class: o.Class, K: o.K, N: o.N, Lower: probabilityText(o.Lower),
		Radius: RadiusText(o.Radius)}
}

// RadiusText is a radius as a ledger prints it: the shortest decimal that reads as the same number.
func RadiusText(radius float64) string { return strconv.FormatFloat(radius, 'f', -1, 64) }

func probabilityText(p float64) string { return strconv.FormatFloat(p, 'f', bound.Decimals, 64) }

// parseProbability reads a probability as probabilityText prints it, each of p and 1−p rounded once.
func parseProbability(text string) (bound.Probability, error) {
	const one = 1e15
	digits, ok := strings.CutPrefix(text, "0.")
	hits, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || len(digits) != bound.Decimals {
		return bound.Probability{}, fmt.Errorf("the probability %.40q, want 0. and %d decimals", text, bound.Decimals)
	}
	return bound.Probability{P: float64(hits) / one, Q: float64(one-hits) / one}, nil
}
