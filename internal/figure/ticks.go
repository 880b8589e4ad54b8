package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// roundTicks stand at whole multiples of 1, 2 or 5 times a power of ten, at most eight of them,
// with one small tick between two.
type roundTicks struct{}

func (roundTicks) Ticks(low, high float64) []plot.Tick {
	step, digits := roundStep(high - low)
	if !(step > 0) || math.IsInf(step, 0) || low+step == low || high+step == high {
		return []plot.Tick{{Value: low, Label: strconv.FormatFloat(low, 'g', 4, 64)}}
	}
	const slack = 1e-9 // of a step, for ends that are multiples but for rounding
	var ticks []plot.Tick
	for k := math.Ceil(2*low/step - slack); k <= 2*high/step+slack; k++ {
		tick := plot.Tick{Value: k * step / 2}
		if math.Mod(k, 2) == 0 {
			tick.Value = k / 2 * step
			tick.Label = strconv.FormatFloat(tick.Value+0, 'f', digits, 64)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// roundStep is the distance of the ticks over a width, and how many digits stand behind its point.
func roundStep(width float64) (step float64, digits int) {
	power := math.Floor(math.Log10(width / 7))
	for _, factor := range []float64{1, 2, 5, 10} {
		step = factor * math.Pow(10, power)
		if width/step < 7 {
			if factor == 10 {
				power++
			}
			break
		}
	}
	return step, int(max(0, -power))
}
