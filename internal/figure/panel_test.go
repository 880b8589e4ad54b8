package figure

import (
	"fmt"
	"math"
	"testing"
)

// Ticks stand at the probits of what they say, within the range, and are few.
func TestProbitTicks(t *testing.T) {
	for _, r := range [][2]float64{{-3, 3}, {0.8, 1.3}, {1.2, 1.25}, {-1, -0.9}, {2, 3.5}} {
		ticks, labels := probitTicks{}.Ticks(r[0], r[1]), 0
		for _, tick := range ticks {
			var percent float64
			if tick.Label != "" {
				labels++
				if _, err := fmt.Sscan(tick.Label, &percent); err != nil || math.Abs(math.Erfc(-tick.Value/math.Sqrt2)/2-percent/100) > 1e-9 {
					t.Errorf("%v: %q at %v", r, tick.Label, tick.Value)
				}
			}
			if tick.Value < r[0] || tick.Value > r[1] {
				t.Errorf("%v: %v", r, tick)
			}
		}
		if labels < 2 || labels > 8 {
			t.Errorf("%v: %d labels", r, labels)
		}
	}
}
