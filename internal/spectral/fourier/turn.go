package fourier

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
)

// turn is cos and sin of 2πk/n for k ≥ 0, exact at the quarters and equal at the eighths of a turn.
func turn(k, n int) (cos, sin float64) {
	quarter, rest := 4*(k%n)/n, 4*(k%n)%n // the angle is π/2 (quarter + rest/n)
	switch {
	case 2*rest < n:
		sin, cos = portable.Sincos(float64(rest) / float64(n) * (math.Pi / 2))
	case 2*rest == n:
		sin, cos = math.Sqrt2/2, math.Sqrt2/2
	default:
		cos, sin = portable.Sincos(float64(n-rest) / float64(n) * (math.Pi / 2))
	}
	switch quarter {
	case 1:
		cos, sin = -sin, cos
	case 2:
		cos, sin = -cos, -sin
	case 3:
		cos, sin = sin, -cos
	}
	return cos, sin
}
