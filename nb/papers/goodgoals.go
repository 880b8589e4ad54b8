package papers

import (
	"math"

	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/nb"
)

// Goals judges, as Trends does, what goes beyond the paper: mixed losses, a fifth of the epochs, CROWN on the same weights and what rounding
// outwards costs; tables B/goals, B/tighter and B/rigour, whose networks have one seed.
func (f *Foreign) Goals() *nb.Tabular {
	t := nb.Columns("goal", "foreign images", "here, points", "verdict")
	add := func(text string, a *experiment.Areas, parts []part) {
		if len(parts) > 0 {
			t.Add(text, a.Set, figures(parts), saysOf(parts))
		}
	}
	for _, a := range f.sets {
		for _, name := range []string{"short", "short-ibp"} {
			if v, half := apart(a, "B/goals/"+name+"@1", "GAUC", f.own+"good80@1", "GAUC"); !math.IsNaN(v) {
				add(name+": GAUC of GOOD 80, but for 3 points", a, []part{{"", v, half, v-half > -3, v+half < -3}})
			}
		}
		for _, name := range []string{"mixed-50", "mixed-80"} {
			for _, q := range []string{"80", "100"} {
				v, half := apart(a, "B/goals/"+name+"@1", "GAUC", f.own+"good"+q+"@1", "GAUC")
				w, other := apart(a, "B/goals/"+name+"@1", "AUC", f.own+"good"+q+"@1", "AUC")
				if !math.IsNaN(v) {
					add(name+": GAUC and AUC at least those of GOOD "+q, a, []part{{"GAUC", v, half, v-half >= 0, v+half < 0}, {"AUC", w, other, w-other >= 0, w+other < 0}})
				}
			}
		}
	}
	for _, a := range f.others {
		text := map[string]string{"crown": "CROWN gives the same weights a greater GAUC", "plain": "without rounding GAUC is the same to a tenth of a point"}[a.By]
		if text == "" {
			continue
		}
		var parts []part
		for _, row := range f.rowsOf(a, "good0", "good40", "good80", "good100") {
			name := f.own + row + "@1"
			v, half := apart(a, name, "GAUC", name, "GAUC by intervals")
			if a.By == "plain" {
				parts = append(parts, part{row, v, half, math.Abs(v)+half < 0.1, math.Abs(v)-half > 0.1})
			} else {
				parts = append(parts, part{row, v, half, v-half > 0, v+half < 0})
			}
		}
		add(text, a, parts)
	}
	t.Notes = []string{"Points of percent; intervals of 95 % over the images (DeLong, paired), each taken alone; one seed."}
	return t
}

// apart is a kind of area of a network minus that of another, with the half width of its interval; NaN where one is not there.
func apart(a *experiment.Areas, network, kind, other, otherKind string) (value, half float64) {
	v, deviation, err := a.All.Contrast(map[[2]string]float64{{network, kind}: 1, {other, otherKind}: -1})
	if err != nil {
		return math.NaN(), 0
	}
	return points(v, deviation)
}
