// Package experimentplot draws figures of experiments.
package experimentplot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/figure"
)

const columns = 3

// Changes is a panel for each radius: how certified accuracy and the largest calibration error of
// networks differ from those that they began with, a series for each method (Emde et al. 2025,
// figure 17, and with adversarial training that goes on, 18). With best, of those that began with
// the network of the largest certified accuracy at that radius alone (figure 4). Down and to the
// right is better.
//
// Errors: no change to draw.
func Changes(f *results.Filled, best bool) (figure.Grid, error) {
	out := figure.Grid{Title: f.Title + ": changes by further training", Columns: columns}
	for _, c := range f.Changes() {
		if best && !c.OfBest {
			continue
		}
		p := panel(&out, fmt.Sprintf("radius %g", c.Radius))
		p.X, p.Y = "certified accuracy, points", "CCE, points"
		s := series(p, c.Group)
		s.Points = append(s.Points, point(100*c.Accuracy, 100*c.CCE))
	}
	if len(out.Panels) == 0 {
		return out, fmt.Errorf("%s: no model with certified calibration that began with another one of the table",
			f.Name)
	}
	align(&out)
	return out, nil
}

// Correlations draws the rank correlations of the exact calibration error, the certified Brier
// score, certified accuracy and the average certified radius over the radius (figure 19), with
// their intervals.
//
// Errors: no correlation to draw.
func Correlations(title string, of []results.RankCorrelation) (figure.Grid, error) {
	p := figure.Panel{Title: title, X: "radius", Y: "Spearman's rank correlation"}
	for _, c := range of {
		if c.A == "ACCE" || c.B == "ACCE" {
			continue
		}
		at := point(place(&p, strconv.FormatFloat(c.Radius, 'g', -1, 64)), c.Rho)
		if c.Interval != nil {
			at.YLow, at.YHigh = c.Interval.Low, c.Interval.High
		}
		s := series(&p, c.A+", "+c.B)
		s.Points = append(s.Points, at)
	}
	if len(p.Series) == 0 {
		return figure.Grid{}, fmt.Errorf("%s: less than three models with certified calibration", title)
	}
	return figure.Grid{Columns: 1, Panels: []figure.Panel{p}}, nil
}

// ByGroup draws the average certified radius of each line, clean and by frequency group (Sun et al.
// 2021, the chart of figure 4).
func ByGroup(title string, of []results.GroupRadius) figure.Grid {
	p := figure.Panel{Title: title, Y: "average certified radius"}
	for _, r := range of {
		p.X = "corruptions of frequency, at severity " + strconv.Itoa(r.Severity)
		at := point(place(&p, r.Group), r.ACR)
		at.YLow, at.YHigh = r.Interval.Low, r.Interval.High
		s := series(&p, r.Title)
		s.Points = append(s.Points, at)
	}
	return figure.Grid{Columns: 1, Panels: []figure.Panel{p}}
}

// TrainingCosts draws certified accuracy over passes of training, a series for each method.
func TrainingCosts(of *results.Costs) figure.Grid {
	p := figure.Panel{Title: "Do certificates pay for training?",
		X: "passes of each training image through the network and back",
		Y: fmt.Sprintf("certified accuracy at radius %g, %%", of.Radius)}
	for _, l := range slices.SortedStableFunc(slices.Values(of.Lines), func(a, b results.TrainingCost) int {
		return cmp.Compare(a.Passes, b.Passes)
	}) {
		at := point(place(&p, strconv.FormatFloat(l.Passes, 'g', -1, 64)), 100*l.Accuracy)
		at.YLow, at.YHigh, at.Name = 100*l.Interval.Low, 100*l.Interval.High, l.Title+", "+l.Tier
		s := series(&p, l.Title)
		s.Points = append(s.Points, at)
	}
	return figure.Grid{Columns: 1, Panels: []figure.Panel{p}}
}

// HeatMaps are the maps of the lines that have one, side by side, on one scale from 0 to the
// largest value (figures 3 and 5).
//
// Errors: no map to draw.
func HeatMaps(f *results.Filled) (figure.HeatMaps, error) {
	out := figure.HeatMaps{Columns: 4}
	for _, l := range f.Lines {
		if m := l.HeatMap(); m != nil {
			out.High = max(out.High, slices.Max(m.Values))
			out.Maps = append(out.Maps, figure.HeatMap{Title: l.Title, X: "v", Y: "u", Columns: m.V, Rows: m.U,
				Values: m.Values})
		}
	}
	if len(out.Maps) == 0 {
		return out, fmt.Errorf("%s: no map over frequencies", f.Name)
	}
	return out, nil
}

// align gives every panel all series in one order, so that each has one colour.
func align(g *figure.Grid) {
	var all figure.Panel
	for _, p := range g.Panels {
		for _, s := range p.Series {
			series(&all, s.Name)
		}
	}
	for i := range g.Panels {
		p := figure.Panel{Series: slices.Clone(all.Series)}
		for _, s := range g.Panels[i].Series {
			*series(&p, s.Name) = s
		}
		g.Panels[i].Series = p.Series
	}
}

func point(x, y float64) figure.Spot {
	none := math.NaN()
	return figure.Spot{X: x, Y: y, XLow: none, XHigh: none, YLow: none, YHigh: none}
}

// place of a name on the x axis, added where it has none.
func place(p *figure.Panel, name string) float64 {
	i := slices.Index(p.Names, name)
	if i < 0 {
		i, p.Names = len(p.Names), append(p.Names, name)
	}
	return float64(i)
}

// panel is that with a title, added where there is none.
func panel(g *figure.Grid, title string) *figure.Panel {
	i := slices.IndexFunc(g.Panels, func(p figure.Panel) bool { return p.Title == title })
	if i < 0 {
		i, g.Panels = len(g.Panels), append(g.Panels, figure.Panel{Title: title})
	}
	return &g.Panels[i]
}

func series(p *figure.Panel, name string) *figure.Series {
	i := slices.IndexFunc(p.Series, func(s figure.Series) bool { return s.Name == name })
	if i < 0 {
		i, p.Series = len(p.Series), append(p.Series, figure.Series{Name: name})
	}
	return &p.Series[i]
}
