package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs/sweep"
)

const greatestSeverity = 5 // of corruptions

// metrics are the columns of a measure: clean, every corruption where it asks for detail, the mean
// of each sweep, its groups, and its mean at the greatest severity where there are several.
func metrics(m radiusMeasure, cells []sweep.Cell) (list []Metric) {
	named := func(has func(sweep.Cell) bool) (names []string) {
		for _, c := range cells {
			if c.Corruption != "" && has(c) {
				names = append(names, c.String())
			}
		}
		return names
	}
	if len(cells) > 0 {
		list = append(list, Metric{"clean", true, []string{sweep.Cell{}.String()}})
	}
	for _, word := range m.Sweeps {
		names, err := familyNames(word)
		family := err == nil
		if !family {
			names = []string{word}
		}
		of := func(c sweep.Cell) bool { return slices.Contains(names, c.Setting.Name) }
		if m.Detail || !family {
			var seen []string
			for _, c := range cells {
				if of(c) && c.Corruption != "" && !slices.Contains(seen, c.Corruption) {
					seen = append(seen, c.Corruption)
					list = append(list, Metric{c.Corruption, !family,
						named(func(o sweep.Cell) bool { return o.Corruption == c.Corruption })})
				}
			}
		}
		if !family {
			continue
		}
		list = append(list, Metric{"mACR " + word, true, named(of)})
		for _, g := range corrupt.Groups[:3] { // by frequency
			if !slices.ContainsFunc(g.Corruptions, func(name string) bool { return !slices.Contains(names, name) }) {
				list = append(list, Metric{word + " " + strings.ToUpper(g.Name[:1]) + g.Name[1:], false,
					named(func(c sweep.Cell) bool { return slices.Contains(g.Corruptions, c.Corruption) })})
			}
		}
		hardest := named(func(c sweep.Cell) bool { return of(c) && c.Setting.Severity == greatestSeverity })
		if len(hardest) > 0 && len(hardest) < len(named(of)) {
			list = append(list, Metric{fmt.Sprintf("%s severity %d", word, greatestSeverity), false, hardest})
		}
	}
	return list
}
