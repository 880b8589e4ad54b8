package calibplot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/internal/figure"
)

// AtRadius holds what searches found of the confidences that are certified at a radius, beside the
// exact largest calibration error.
type AtRadius struct {
	Radius, Exact float64
	Found         []mip.Found
}

// Starts draws every run of the searches by where it began, at each radius, beside the exact error
// (Emde et al. 2025, figure 12).
func Starts(title string, of []AtRadius) figure.Grid {
	p := figure.Panel{Title: title, X: "radius", Y: "calibration error found"}
	add := func(name string, at int, value float64) {
		i := slices.IndexFunc(p.Series, func(s figure.Series) bool { return s.Name == name })
		if i < 0 {
			i, p.Series = len(p.Series), append(p.Series, figure.Series{Name: name})
		}
		none := math.NaN()
		p.Series[i].Points = append(p.Series[i].Points, figure.Spot{X: float64(at), Y: value, XLow: none, XHigh: none,
			YLow: none, YHigh: none})
	}
	for k, at := range of {
		p.Names = append(p.Names, strconv.FormatFloat(at.Radius, 'g', -1, 64))
		add("exact", k, at.Exact)
		for _, f := range at.Found {
			add(fmt.Sprintf("%s, %s", f.Search, strings.NewReplacer("brier", "Brier", "gaussian", "Gaussian").
				Replace(string(f.Start))), k, f.Best)
		}
	}
	return figure.Grid{Columns: 1, Panels: []figure.Panel{p}}
}
