package papers

import (
	"math"

	"github.com/certspec/certspec/internal/experiment/store"
)

// Goals judges, as Trends does, what goes beyond the paper: mixed losses, a fifth of the epochs,
// CROWN on the same weights and what rounding outwards costs; tables B/goals, B/tighter and
// B/rigour, whose networks have one seed.
func (f *Foreign) Goals() *Findings {
	out := &Findings{Unit: "points", Tier: "cpu", Digits: 1}
	add := func(text string, a *store.Areas, parts []part) { out.add(text, a.Set, parts) }
	for _, a := range f.sets {
		for _, name := range []string{"short", "short-ibp"} {
			if e := apart(a, "B/goals/"+name+"@1", "GAUC", f.own+"good80@1", "GAUC"); e.there() {
				add(name+": GAUC of GOOD 80, but for 3 points", a, []part{{"", e, above(-3)}})
			}
		}
		for _, name := range []string{"mixed-50", "mixed-80"} {
			for _, q := range []string{"80", "100"} {
				area := func(kind string) estimate {
					return apart(a, "B/goals/"+name+"@1", kind, f.own+"good"+q+"@1", kind)
				}
				if e := area("GAUC"); e.there() {
					add(name+": GAUC and AUC at least those of GOOD "+q, a, []part{{"GAUC", e, atLeast(0)}, {"AUC",
						area("AUC"), atLeast(0)}})
				}
			}
		}
	}
	for _, a := range f.others {
		text := map[string]string{"crown": "CROWN gives the same weights a greater GAUC",
			"plain": "without rounding GAUC is the same to a tenth of a point"}[a.By]
		if text == "" {
			continue
		}
		var parts []part
		for _, row := range f.rowsOf(a, "good0", "good40", "good80", "good100") {
			name := f.own + row + "@1"
			says := above(0)
			if a.By == "plain" {
				says = aim{0, func(low, high float64) (yes, no bool) {
					return max(-low, high) < 0.1, max(low, -high) > 0.1
				}}
			}
			parts = append(parts, part{row, apart(a, name, "GAUC", name, "GAUC by intervals"), says})
		}
		add(text, a, parts)
	}
	out.Notes = []string{"Points of percent; intervals of 95 % over the images (DeLong, paired), each taken alone; " +
		"one start."}
	return out
}

// apart is a kind of area of a network minus that of another.
func apart(a *store.Areas, network, kind, other, otherKind string) estimate {
	v, deviation, err := a.All.Contrast(map[[2]string]float64{{network, kind}: 1, {other, otherKind}: -1})
	if err != nil {
		return estimate{value: math.NaN()}
	}
	return estimate{starts: 1}.at(100*v, 100*deviation)
}
