package lines

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
)

// Published is a printed table: slope and R² as the paper prints them, by shift, predictor and group.
type Published map[PublishedKey]PublishedCell

// PublishedKey names a cell by the names of a Table.
type PublishedKey struct{ Shift, Predictor, Group string }

// PublishedCell holds the printed digits.
type PublishedCell struct{ Slope, R2 string }

//go:embed published/table1.csv
var table1 string

// PublishedTable1 is table 1 of Fridovich-Keil et al. 2022, for comparison with Tabulate and ByPruning.
func PublishedTable1() Published { return mustPublished(table1) }

func mustPublished(text string) Published {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		panic(fmt.Sprintf("lines: published table: %v", err))
	}
	p := Published{}
	for _, row := range rows[1:] {
		p[PublishedKey{row[0], row[1], row[2]}] = PublishedCell{row[3], row[4]}
	}
	return p
}

// Difference is one printed number that a table does not have.
type Difference struct {
	PublishedKey
	Number        string // "slope" or "r2"
	Printed, Ours string
}

// Compare counts the numbers of a table that were printed, and lists those that differ in a printed digit. Cells that
// one of the two lacks do not count.
func (t *Table) Compare(p Published) (compared int, differ []Difference) {
	for _, c := range t.Cells {
		key := PublishedKey{c.Shift, c.Predictor, c.Group}
		printed, ok := p[key]
		if !ok {
			continue
		}
		compared += 2
		if ours := asPrinted(c.Slope); ours != printed.Slope {
			differ = append(differ, Difference{key, "slope", printed.Slope, ours})
		}
		if ours := asPrinted(c.R2); ours != printed.R2 {
			differ = append(differ, Difference{key, "r2", printed.R2, ours})
		}
	}
	return compared, differ
}
