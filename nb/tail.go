package nb

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/rs/bound"
)

// Tail draws how a lower bound is proven: the probability of k hits or more in n trials against the probability p of
// one, P[Bin(n, p) ≥ k] = I_p(k, n−k+1), with the level α, and the bound where the two meet.
func Tail(k, n int, alpha float64) *Figure {
	lower, err := bound.Lower(k, n, alpha)
	end(err)
	if k == 0 {
		end(fmt.Errorf("nb.Tail: 0 hits of %d; their bound is 0, and there is nothing to draw", n))
		return nil
	}
	var curve plotter.XYs
	low := math.Max(0.001, lower.P-3*math.Sqrt(lower.P*(1-lower.P)/float64(n)))
	for _, p := range spaced(low, math.Min(1, float64(k)/float64(n)), 200) {
		if tail := mathext.RegIncBeta(float64(k), float64(n-k+1), p); tail > 1e-9 {
			curve = append(curve, plotter.XY{X: p, Y: tail})
		}
	}
	p := figure.NewPlot(fmt.Sprintf("The lower bound from k = %d hits of n = %d, α = %g", k, n, alpha),
		"probability p of a hit", fmt.Sprintf("P[Bin(%d, p) ≥ %d]", n, k))
	lines := []figure.Line{
		{Name: fmt.Sprintf("at least %d of %d hits", k, n), XYs: curve},
		{Name: fmt.Sprintf("α = %g", alpha), XYs: plotter.XYs{{X: curve[0].X, Y: alpha}, {X: curve[len(curve)-1].X,
			Y: alpha}}},
		{Name: fmt.Sprintf("lower bound %.5f", math.Floor(lower.P*1e5)/1e5),
			XYs: plotter.XYs{{X: lower.P, Y: math.Pow10(int(math.Floor(math.Log10(curve[0].Y))))},
				{X: lower.P, Y: alpha}}},
	}
	for i := range lines {
		lines[i].Style = figure.LineStyle(i)
		p.Add(&plotter.Line{XYs: lines[i].XYs, LineStyle: lines[i].Style})
	}
	figure.LogTicks(&p.Y)
	return &Figure{
		Caption: fmt.Sprintf("the probability of at least %d hits in %d trials crosses %g at p = %.5f", k, n, alpha,
			lower.P),
		Width: figure.Width, Height: figure.Height,
		numbers: func() *Tabular {
			t := Columns("p", lines[0].Name)
			for _, at := range curve {
				t.Add(at.X, at.Y)
			}
			return t
		},
		paint: func(f *Figure, c draw.Canvas) {
			again := *p // drawing changes the legend
			w := f.words(p.Title.Text, p.X.Label.Text, p.Y.Label.Text)
			again.Title.Text, again.X.Label.Text, again.Y.Label.Text = w.Title, w.X, w.Y
			figure.DrawLines(&again, figure.Inset(c), lines)
		},
	}
}

// spaced are count values at equal distances, both ends included.
func spaced(from, to float64, count int) []float64 {
	values := make([]float64, count)
	for i := range values {
		values[i] = from + (to-from)*float64(i)/float64(count-1)
	}
	return values
}
