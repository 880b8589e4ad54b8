package printable

import (
	"math"
	"testing"
)

// A number has two digits of half its range at most; ends show on which side the bound lies.
func TestRanged(t *testing.T) {
	for want, c := range map[string]struct {
		v, low, high, bound float64
		digits              int
	}{
		"35 (28 to 49)":             {35.1, 27.6, 49.4, math.NaN(), 1},
		"8 (−7 to 27)":              {8.47, -7.45, 26.67, math.NaN(), 2},
		"−0.026 (−0.036 to −0.016)": {-.0262, -.0361, -.0159, 0, 3},
		"0.0012 (0.0003 to 0.0021)": {.0012, .0003, .0021, 0, 3},
		"35 (0.2 to 70.3)":          {35.1, .2, 70.3, 0, 1},
		"97.1 (94.9 to 99.0)":       {97.1, 94.9, 99, math.NaN(), 1},
	} {
		if got := Ranged(c.v, c.low, c.high, c.bound, c.digits); got != want {
			t.Errorf("%s; expected %s", got, want)
		}
	}
}
