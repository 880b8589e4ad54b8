package engine

import (
	"math"
	"testing"
)

// Outputs are compared wherever float32 holds them, whatever stands beside them; a finite output where none can be is
// another graph's.
func TestOutputsAreComparedWhereFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for name, c := range map[string]struct {
		want     []float64
		row      []float32
		compared int
		ok       bool
	}{
		"all hold":                     {[]float64{1, -2, 3}, []float32{1.01, -2, 3}, 3, true},
		"one differs":                  {[]float64{1, -2, 3}, []float32{1.2, -2, 3}, 0, false},
		"one overflows, the rest hold": {[]float64{1e39, -2, 3}, []float32{inf, -2, 3}, 2, true},
		"one overflows, one differs":   {[]float64{1e39, -2, 3}, []float32{inf, 2, 3}, 0, false},
		"one is infinite in float64":   {[]float64{math.Inf(-1), 2, 3}, []float32{-inf, 2, 4}, 0, false},
		"one is no number":             {[]float64{math.NaN(), 2, 3}, []float32{nan, 2, 3}, 2, true},
		"finite where it cannot be":    {[]float64{1e39, -2, 3}, []float32{1, -2, 3}, 0, false},
		"finite at the edge":           {[]float64{3.41e38, -2}, []float32{3.4e38, -2}, 1, true},
		"no number where there is one": {[]float64{1, 2}, []float32{nan, 2}, 0, false},
		"none that float32 holds":      {[]float64{1e39, -1e39}, []float32{inf, -inf}, 0, true},
	} {
		n, err := agreeRow(c.want, c.row)
		if (err == nil) != c.ok || c.ok && n != c.compared {
			t.Errorf("%s: %d compared, %v", name, n, err)
		}
	}
}
