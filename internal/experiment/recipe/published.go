package recipe

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/study"
)

// Published are figures in print, by row and figure. A row goes by its title or its group, or by
// its recipe where titles repeat.
type Published map[string]map[string]float64

// InPercent ends the names of figures in percent.
const InPercent = ", %"

// ForeignFigure is the name of a figure on a set of foreign images.
func ForeignFigure(set, what string) string { return set + " " + what + InPercent }

// Numbers are the printed numbers of a table, by cell, those of the tables that it names among them.
//
// Errors: those of study.Printed; an unknown table; two different numbers for one cell.
func (l *Library) Numbers(t Table) (map[study.Cell]study.PrintedNumber, error) {
	all := map[study.Cell]study.PrintedNumber{}
	if t.Printed == nil {
		return all, nil
	}
	numbers, err := t.Printed.Numbers()
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", Spelled(t.Name), err)
	}
	for _, n := range numbers {
		all[n.Cell] = n
	}
	for _, name := range t.Printed.From {
		other, err := find(l, Tables, l.tables, name)
		if err != nil {
			return nil, fmt.Errorf("table %s: printed: from: %w", Spelled(t.Name), err)
		}
		of, err := l.Numbers(other)
		if err != nil {
			return nil, err
		}
		for c, n := range of {
			if had, ok := all[c]; ok && had.Value != n.Value {
				return nil, fmt.Errorf("table %s: %s of %s on %s is printed as %v in %s and as %v in %s", Spelled(t.Name),
					c.What, c.Row, c.Set, had.Value, had.Source, n.Value, n.Source)
			}
			all[c] = n
		}
	}
	return all, nil
}

// figures have the names that tables of results have for quantities on sets.
func figures(numbers map[study.Cell]study.PrintedNumber) Published {
	all := Published{}
	for c, n := range numbers {
		if all[c.Row] == nil {
			all[c.Row] = map[string]float64{}
		}
		all[c.Row][figureOf(c)] = n.Value
	}
	return all
}

func figureOf(c study.Cell) string {
	word, radius, at := strings.Cut(c.What, " ")
	_, err := tier.FamilyNames(c.Set)
	switch {
	case word == "acr" && err == nil:
		return "mACR " + c.Set
	case word == "acr":
		return c.Set
	case at:
		return strings.ToUpper(word) + " at " + radius
	case word == "accuracy":
		return word + InPercent
	case word == "confidence" || word == "bound":
		return ForeignFigure(c.Set, word)
	}
	return ForeignFigure(c.Set, strings.ToUpper(word))
}
