package printable

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Fixed is a number with so many decimals, a true minus sign and no negative zero.
func Fixed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// Ranged is a number with its range, to at most so many decimals and no more than two digits of half the range. The
// ends have more where they would hide, when they are rounded, that a bound lies outside; NaN: no bound.
func Ranged(v, low, high, bound float64, decimals int) string {
	carried := func(decimals int) int {
		for decimals > 0 && (high-low)/2*math.Pow10(decimals) >= 99 {
			decimals--
		}
		return decimals
	}
	ends := carried(decimals)
	for ends < 6 && rounded(low, ends) <= rounded(bound, ends) && rounded(bound, ends) <= rounded(high, ends) {
		ends++
	}
	return fmt.Sprintf("%s (%s to %s)", Fixed(v, carried(ends)), Fixed(low, ends), Fixed(high, ends))
}

// rounded is a number as it is printed.
func rounded(v float64, decimals int) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	return v
}
