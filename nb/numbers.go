package nb

import (
	"math"

	"github.com/certspec/certspec/internal/figure"
)

// lineNumbers are the points of lines, with the ends of their intervals.
func lineNumbers(axes Axes, lines []Line) *Tabular {
	t := Columns("line", axes.X, axes.Y, "low", "high")
	for _, l := range lines {
		for i := range l.X {
			low, high := math.NaN(), math.NaN()
			if len(l.Low) > 0 {
				low, high = l.Low[i], l.High[i]
			}
			t.Add(l.Name, l.X[i], l.Y[i], known(low), known(high))
		}
	}
	return t
}

// gridNumbers are the points of panels; those of probit axes are in percent.
func gridNumbers(g figure.Grid) *Tabular {
	t := Columns("panel", "series", "point", "x", "y", "x low", "x high", "y low", "y high")
	percent := func(probit bool, v float64) any {
		if probit {
			v = 50 * math.Erfc(-v/math.Sqrt2)
		}
		return known(v)
	}
	for _, p := range g.Panels {
		for _, s := range p.Series {
			for _, at := range s.Points {
				x := percent(p.ProbitX, at.X)
				if p.Names != nil {
					x = p.Names[int(at.X)]
				}
				t.Add(p.Title, s.Name, at.Name, x, percent(p.ProbitY, at.Y), percent(p.ProbitX, at.XLow),
					percent(p.ProbitX, at.XHigh), percent(p.ProbitY, at.YLow), percent(p.ProbitY, at.YHigh))
			}
		}
	}
	return t
}

func forestNumbers(f figure.Forest) *Tabular {
	t := Columns("row", "value", "low", "high", "compared with", "published")
	for _, r := range f.Rows {
		published := any("")
		if r.Published != nil {
			published = *r.Published
		}
		t.Add(r.Name, r.Value, r.Low, r.High, r.Bound, published)
	}
	return t
}

// known is a number, or nothing where there is none.
func known(v float64) any {
	if math.IsNaN(v) {
		return ""
	}
	return v
}
