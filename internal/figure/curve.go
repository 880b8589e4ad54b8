package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/bound"
)

// Curve is a step curve: Accuracy[i] at every radius up to and including Radii[i], above Radii[i−1].
type Curve struct {
	Name     string // beside the line or in the legend; "": none
	Radii    []float64
	Accuracy []float64
	Behind   []string    // the images of each radius, for a reader who points there; nil: none
	Images   int         // labelled images behind the accuracy; 0: no band is drawn
	Cap      float64     // largest radius that could be certified
	Samples  int         // noise samples n behind the cap; 0: the cap is not named
	Clean    float64     // accuracy of the smoothed classifier without an attack, marked at radius 0; 0: none
	Attacked plotter.XYs // empirical accuracies by radius: of the images that an attack did not break
}

// bandLevel is the confidence of the band, at each radius by itself.
const bandLevel = 0.95

// finest is the share of the radius axis below which two steps of a curve are drawn as one.
const finest = 1. / 1000

// CertifiedAccuracy draws certified accuracy against the radius: a step line for each curve, around
// it the exact 95 % interval of Clopper and Pearson (1934) for the population of which the images
// are a random sample, and the cap of the radius. Where there are several curves, their names stand
// in a legend.
func CertifiedAccuracy(c draw.Canvas, words Words, curves ...Curve) {
	p := NewPlot(words.Title, cmp.Or(words.X, "radius r (ℓ₂; full range of a pixel value = 1)"),
		cmp.Or(words.Y, "certified accuracy at r"))
	p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks(evenTicks(0, 1, 0.2))
	for _, curve := range curves {
		p.X.Max = math.Max(p.X.Max, 1.02*curve.Cap)
	}
	var lines, limits []Line
	caps := map[float64]bool{}
	for i, curve := range curves {
		curve = curve.thinned(finest * p.X.Max)
		if curve.Images > 0 && len(curve.Radii) > 0 {
			p.Add(curve.band(LineStyle(i).Color))
		}
		lines = append(lines, Line{Name: curve.Name, XYs: curve.steps(), Style: LineStyle(i)})
		if curve.Cap > 0 && curve.Samples > 0 && !caps[curve.Cap] {
			limit := Line{XYs: plotter.XYs{{X: curve.Cap, Y: 0}, {X: curve.Cap, Y: 1}}, Style: capStyle}
			if len(curves) == 1 {
				p.Add(capLabel(curve))
			} else if len(caps) == 0 {
				limit.Name = "largest radius of n ≤ " + printable.Count(curve.Samples)
			}
			caps[curve.Cap] = true
			limits = append(limits, limit)
		}
	}
	for i, curve := range curves {
		p.Add(curve.marks(LineStyle(i + 1).Color)...)
		p.Add(curve.hints())
	}
	lines = append(lines, limits...)
	for i := range lines {
		p.Add(&plotter.Line{XYs: lines[i].XYs, LineStyle: lines[i].Style})
	}
	drawLegend(p, labelled(p, c), lines) // not beside their ends: all curves end at 0
}

// marks are the clean and the empirical accuracies, each kind with its name beside the first of them.
func (c Curve) marks(ink color.Color) (all []plot.Plotter) {
	add := func(at plotter.XYs, shape draw.GlyphDrawer, name string, up vg.Length) {
		dots := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: ink, Radius: 3.5, Shape: shape}}
		style := Label(9, ink)
		style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
		label := &plotter.Labels{XYs: at[:1], Labels: []string{name}, Offset: vg.Point{X: 6, Y: up},
			TextStyle: []draw.TextStyle{style}}
		all = append(all, dots, label)
	}
	if c.Clean > 0 {
		add(plotter.XYs{{X: 0, Y: c.Clean}}, draw.CircleGlyph{}, "clean accuracy", 8)
	}
	if len(c.Attacked) > 0 {
		add(c.Attacked, draw.PyramidGlyph{}, "empirical accuracy, under attack", 9)
	}
	return all
}

// capStyle of the line at the largest radius which n noise samples can certify.
var capStyle = draw.LineStyle{Color: Grey, Dashes: []vg.Length{1.5, 2}, Width: 1}

// capLabel stands upright to the left of the line at the cap.
func capLabel(curve Curve) *plotter.Labels {
	style := Label(9, Grey)
	style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XLeft, draw.YBottom
	at := plotter.XY{X: curve.Cap, Y: 0.02}
	if k := len(curve.Accuracy) - 1; k >= 0 && curve.Accuracy[k] < 0.5 { // more room above the curve
		at.Y, style.XAlign = 0.98, draw.XRight
	}
	return &plotter.Labels{
		XYs: plotter.XYs{at}, Offset: vg.Point{X: -2},
		Labels: []string{"cap of n ≤ " + printable.Count(curve.Samples)}, TextStyle: []draw.TextStyle{style},
	}
}

// thinned leaves out steps that are closer than the width to the one before: the curve falls that
// much too early, never too late.
func (c Curve) thinned(width float64) Curve {
	var radii, accuracy []float64
	var behind []string
	for i, radius := range c.Radii {
		if k := len(radii) - 1; k < 0 || i == len(c.Radii)-1 || radius-radii[k] >= width {
			radii, accuracy = append(radii, radius), append(accuracy, c.Accuracy[i])
			if c.Behind != nil {
				behind = append(behind, c.Behind[i])
			}
		}
	}
	c.Radii, c.Accuracy, c.Behind = radii, accuracy, behind
	return c
}

// hints are the images behind the steps.
func (c Curve) hints() hints {
	h := hints{names: c.Behind}
	for i := range c.Behind {
		h.at = append(h.at, plotter.XY{X: c.Radii[i], Y: c.Accuracy[i]})
	}
	return h
}

// hints are names of points, for a reader who points there.
type hints struct {
	at    plotter.XYs
	names []string
}

// Plot implements plot.Plotter.
func (h hints) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, at := range h.at {
		Hint(c, vg.Point{X: x(at.X), Y: y(at.Y)}, 4, h.names[i])
	}
}

// band is the area between the ends of the interval at every radius.
func (c Curve) band(ink color.Color) *plotter.Polygon {
	low, high := c, c
	low.Accuracy, high.Accuracy = c.Interval()
	edge := high.steps()
	edge = edge[:len(edge)-1]
	back := low.steps()
	for i := len(back) - 2; i >= 0; i-- {
		edge = append(edge, back[i])
	}
	return shade(edge, ink)
}

// Interval is the 95 % interval at every radius.
func (c Curve) Interval() (low, high []float64) {
	for _, accuracy := range c.Accuracy {
		count := min(max(int(math.Round(accuracy*float64(c.Images))), 0), c.Images)
		lower, upper, err := bound.ClopperPearson{Alpha: 1 - bandLevel}.Interval(count, c.Images)
		if err != nil { // without images
			lower.P, upper.P = accuracy, accuracy
		}
		low, high = append(low, lower.P), append(high, upper.P)
	}
	return low, high
}

// band is the area between two lines over the same places, in the light colour of the i-th line.
func band(low, high plotter.XYs, i int) *plotter.Polygon {
	edge := slices.Clone(high)
	for k := len(low) - 1; k >= 0; k-- {
		edge = append(edge, low[k])
	}
	return shade(edge, LineStyle(i).Color)
}

// shade fills an area lightly; the grid and other areas show through it.
func shade(edge plotter.XYs, ink color.Color) *plotter.Polygon {
	r, g, b, _ := ink.RGBA()
	return &plotter.Polygon{XYs: []plotter.XYs{edge}, Color: color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8),
		56}}
}

// steps are the corners of the curve.
func (c Curve) steps() plotter.XYs {
	at := make(plotter.XYs, len(c.Radii))
	for i, radius := range c.Radii {
		at[i] = plotter.XY{X: radius, Y: c.Accuracy[i]}
	}
	return stairs(at)
}

func evenTicks(from, to, step float64) []plot.Tick {
	var ticks []plot.Tick
	for i := 0; from+float64(i)*step <= to+step/2; i++ {
		v := from + float64(i)*step
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.1f", v)})
	}
	return ticks
}
