package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/certspec/certspec/internal/printable"
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
			tick.Label = minus(printable.Grouped(tick.Value+0, digits))
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// minus is a number with a true minus sign.
func minus(number string) string { return strings.Replace(number, "-", "−", 1) }

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

// LogTicks scales an axis with positive ends by powers of ten, and widens it to whole ones.
func LogTicks(axis *plot.Axis) {
	if !(axis.Min > 0) {
		return
	}
	low, high := int(math.Floor(math.Log10(axis.Min)+1e-9)), int(math.Ceil(math.Log10(axis.Max)-1e-9))
	var ticks []plot.Tick
	for power := low; power <= high; power++ {
		tick := plot.Tick{Value: math.Pow10(power), Label: "10^" + minus(strconv.Itoa(power))}
		if power >= -3 && power <= 3 {
			tick.Label = printable.Grouped(tick.Value, max(0, -power))
		}
		ticks = append(ticks, tick)
		for digit := 2; digit < 10 && power < high; digit++ {
			ticks = append(ticks, plot.Tick{Value: float64(digit) * math.Pow10(power)})
		}
	}
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
	axis.Tick.Label.Handler = raised{axis.Tick.Label.Handler}
	axis.Min, axis.Max = math.Pow10(low), math.Pow10(high)
}

// raised sets what follows a ^ small and high: the font has not all such digits.
type raised struct{ text.Handler }

const smaller, higher = 0.75, 0.35 // of the size of a letter

func (h raised) Box(txt string, f font.Font) (width, height, depth vg.Length) {
	base, power, _ := strings.Cut(txt, "^")
	width, height, depth = h.Handler.Box(base, f)
	f.Size *= smaller
	small, _, _ := h.Handler.Box(power, f)
	return width + small, height, depth
}

func (h raised) Draw(c vg.Canvas, txt string, style text.Style, at vg.Point) {
	base, power, _ := strings.Cut(txt, "^")
	width, _, _ := h.Box(txt, style.Font)
	at.X += vg.Length(style.XAlign) * width
	style.XAlign, style.Handler = text.XLeft, h.Handler
	h.Handler.Draw(c, base, style, at)
	before, _, _ := h.Handler.Box(base, style.Font)
	at.X, at.Y = at.X+before, at.Y+higher*style.Font.Size
	style.Font.Size *= smaller
	h.Handler.Draw(c, power, style, at)
}
