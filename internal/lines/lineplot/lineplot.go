// Package lineplot draws accuracy lines: models and their lines on probit axes.
package lineplot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
)

// OfResult is a picture of fitted lines: a series for each group, bars of exact 95 % intervals.
func OfResult(r *lines.Result) figure.Grid {
	p := figure.Panel{X: named(r.X) + " (%)", Y: named(r.Y) + " (%)", ProbitX: true, ProbitY: true}
	others := figure.Series{Name: "not in the fit"}
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, l := range r.Lines {
		lowest, highest = min(lowest, l.R2), max(highest, l.R2)
	}
	p.Title = fmt.Sprintf("%s against %s: R² %.2f", named(r.Y), named(r.X), lowest)
	if highest >= lowest+0.005 {
		p.Title += fmt.Sprintf(" to %.2f", highest)
	}
	for _, l := range r.Lines {
		s := figure.Series{Name: l.Group}
		if _, one := l.Radius.(float64); one && strconv.FormatFloat(l.Radius.(float64), 'g', -1, 64) == l.Group {
			s.Name = "radius " + l.Group
		}
		for _, m := range r.Models {
			if m.Group == l.Group && (m.Influence != nil || len(r.Lines) > 1) {
				s.Points = append(s.Points, spot(m.Name, m.X, m.Y))
			} else if m.Group == l.Group {
				others.Points = append(others.Points, spot(m.Name, m.X, m.Y))
			}
		}
		s.Lines = []figure.Fit{across(l.Line, s.Points)}
		if len(r.Lines) > 1 && l.Group == "all" {
			s.Name, s.Points = "all radii (line)", nil // the other groups have them
		}
		p.Series = append(p.Series, s)
	}
	if len(others.Points) > 0 {
		p.Series[0].Name = cmp.Or(p.Series[0].Name, "in the fit")
		p.Series = append(p.Series, others)
	}
	return figure.Grid{Columns: 1, Panels: []figure.Panel{p}}
}

// spot is a model's pair of accuracies in probit units, cut where these would leave the picture.
func spot(model string, x, y lines.Coordinate) figure.Spot {
	const edge = 5e-4 // of accuracies that no number of images is known for
	probit := func(share float64, n int) float64 {
		half := edge
		if n > 0 {
			half = 0.5 / float64(n)
		}
		return lines.Probit(min(max(share, half), 1-half))
	}
	at := figure.Spot{X: probit(x.Share, x.N), Y: probit(y.Share, y.N), XLow: math.NaN(), XHigh: math.NaN(),
		YLow: math.NaN(), YHigh: math.NaN(), Name: model}
	if i := x.Interval; i != nil {
		at.XLow, at.XHigh = probit(i.Low, x.N), probit(i.High, x.N)
	}
	if i := y.Interval; i != nil {
		at.YLow, at.YHigh = probit(i.Low, y.N), probit(i.High, y.N)
	}
	return at
}

// across is a line over the width of some points.
func across(l lines.Line, points []figure.Spot) figure.Fit {
	f := figure.Fit{Slope: l.Slope, Intercept: l.Intercept, R2: l.R2, From: math.Inf(1), To: math.Inf(-1)}
	for _, p := range points {
		f.From, f.To = min(f.From, p.X), max(f.To, p.X)
	}
	return f
}

// OfGrouping is figures 2, 3, 8 and 9 of Fridovich-Keil et al. (2022): for each shift (rows) and
// group of models (columns), accuracy under the shift against accuracy without it, a line for each
// architecture. With best, it is figures 10 and 11: against the number that predicts best in the
// mean over architectures. Errors: those of lines.Tabulate.
func OfGrouping(models lines.Models, by lines.Grouping, best bool, clip lines.Clip) (figure.Grid, error) {
	t, err := lines.Tabulate(models, by, clip)
	if err != nil {
		return figure.Grid{}, err
	}
	out := figure.Grid{Title: by.Title, Columns: len(t.Groups)}
	for _, shift := range t.Shifts {
		for _, group := range by.Groups {
			predictor := lines.Predictor{Field: by.ID, Name: "ID accuracy"}
			if best {
				predictor = t.BestPredictor(shift, group.Name)
			}
			panel, err := onePanel(models, by, shift, cmp.Or(predictor.Field, by.ID), group, clip)
			if err != nil {
				return figure.Grid{}, err
			}
			cell, _ := t.At(shift, predictor.Name, group.Name)
			panel.Title = fmt.Sprintf("%s, %s: R² %.2f", named(shift), group.Name, cell.R2)
			out.Panels = append(out.Panels, panel)
		}
	}
	return out, nil
}

// Caption says what OfResult shows.
func Caption(r *lines.Result) string {
	caption := fmt.Sprintf("%s against %s on probit axes, %d points with exact 95 %% intervals.", named(r.Y), named(r.X),
		len(r.Models))
	for _, l := range r.Lines {
		caption += fmt.Sprintf(" %s: slope %.2f, R² %.2f.", strings.TrimSpace("Line "+l.Group), l.Slope, l.R2)
	}
	return caption
}

// named is the name of a field as people say it.
func named(field string) string {
	for _, p := range lines.Predictors {
		if p.Field == field {
			return p.Name
		}
	}
	known := map[string]string{"cifar10_acc": "accuracy", "cifar10.1_acc": "CIFAR-10.1", "cifar10c_acc": "CIFAR-10-C",
		"val": "ImageNet", "imagenetv2": "ImageNet-V2", "imagenet-r": "ImageNet-R", "imagenet-a": "ImageNet-A"}
	return cmp.Or(known[field], printable.Name(field))
}

func onePanel(models lines.Models, by lines.Grouping, shift, field string, group lines.Group,
	clip lines.Clip) (figure.Panel, error) {
	p := figure.Panel{X: named(field), Y: named(shift) + " (%)", ProbitY: true}
	for _, name := range models.Values(by.Lines) {
		s := figure.Series{Name: name}
		var x, y []float64
		for _, m := range models {
			if m.Labels[by.Lines] != name || !group.Keep(m) {
				continue
			}
			a, okA, errA := m.Value(field, clip)
			b, okB, errB := m.Value(shift, clip)
			if err := cmp.Or(errA, errB); err != nil {
				return p, err
			}
			if !okA || !okB {
				continue
			}
			at := figure.Spot{X: a, Y: b, XLow: math.NaN(), XHigh: math.NaN(), YLow: math.NaN(), YHigh: math.NaN(),
				Name: m.Name}
			if _, isAccuracy := m.Accuracies[field]; isAccuracy {
				p.ProbitX, p.X = true, named(field)+" (%)"
				c, errC := m.Accuracies[field].Coordinate()
				d, errD := m.Accuracies[shift].Coordinate()
				if err := cmp.Or(errC, errD); err != nil {
					return p, err
				}
				bars := spot("", c, d)
				at.XLow, at.XHigh, at.YLow, at.YHigh = bars.XLow, bars.XHigh, bars.YLow, bars.YHigh
			}
			s.Points = append(s.Points, at)
			x, y = append(x, a), append(y, b)
		}
		if l, err := lines.LeastSquares(x, y); err == nil {
			s.Lines = []figure.Fit{across(l, s.Points)}
		}
		p.Series = append(p.Series, s)
	}
	p.Series = slices.DeleteFunc(p.Series, func(s figure.Series) bool { return s.Name == "" && len(s.Points) == 0 })
	return p, nil
}
