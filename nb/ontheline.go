package nb

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/lines/lineplot"
	"github.com/certspec/certspec/lines"
)

// OnTheLine draws one accuracy of models against another on probit axes, with exact intervals and a line for each value
// of a label, opaque by its R². The label "" gives one line.
func OnTheLine(models lines.Models, x, y, by string) *Figure {
	r, err := lines.Fit(Context(), models, lines.Options{X: x, Y: y, By: by, Over: lines.Nothing})
	end(err)
	if r == nil {
		return nil
	}
	return Plot(r)
}

// LinesBy draws a panel for each shift and group of models, as in figures 2 and 3 of Fridovich-Keil et al. (2022); with
// best, against the number that predicts best, as in figures 10 and 11. Shifts come from the grouping, or the ones
// given.
func LinesBy(models lines.Models, by lines.Grouping, best bool, shifts ...string) *Figure {
	if len(shifts) > 0 {
		by.Shifts = shifts
	}
	grid, err := lineplot.OfGrouping(models, by, best, lines.Clip{})
	end(err)
	axis := "accuracy without it"
	if best {
		axis = "the number that predicts it best"
	}
	return gridFigure(grid, fmt.Sprintf("%s: accuracy under each shift against %s, probit axes, a line for each %s",
		by.Title, axis, cmp.Or(by.Lines, "group")))
}

// Frames is a figure for each value of a slider; those at static stand below it, for pages without JavaScript.
func Frames(caption string, slider Slider, frame func(at int) *Figure, static ...int) *Widget {
	w := &Widget{Caption: caption, Sliders: []Slider{slider}, Frame: func(at []int) []string {
		drawing, err := frame(at[0]).svg()
		end(err)
		return []string{string(drawing)}
	}}
	for i := range slider.Values {
		if slices.Contains(static, i) {
			w.Static = append(w.Static, frame(i))
		}
	}
	return w
}
