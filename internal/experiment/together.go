package experiment

import (
	"fmt"

	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// together corrects the p-values of the differences that a table shows by Holm's method, keeps them
// in the differences, and gives a note for its caption; none where there are fewer than two. A nil
// stands for a difference that is not there.
func together(confidence float64, shown []*compare.Difference) (corrected map[*compare.Difference]float64,
	notes []string) {
	var p []float64
	var of []*compare.Difference
	for _, d := range shown {
		if d != nil {
			p, of = append(p, d.P), append(of, d)
		}
	}
	holm, err := resample.Holm(p)
	if err != nil {
		panic("experiment: " + err.Error()) // shares of resamples
	}
	corrected = map[*compare.Difference]float64{}
	for i, d := range of {
		corrected[d], d.Holm = holm[i], &holm[i]
	}
	if len(of) < 2 {
		return corrected, nil
	}
	level := 1 - confidence
	return corrected, []string{fmt.Sprintf("p: of no difference, two-sided, corrected by Holm for the %d "+
		"differences of this table: all those of at most %.3g may be claimed together, and one of them is false "+
		"with a probability of at most %.3g; the adjusted level of the smallest is %.3g. The intervals stand for "+
		"one difference alone.",
		len(of), level, level, level/float64(len(of)))}
}

// differenceCells are a difference, the ends of its interval and its corrected p-value; nil: not there.
func differenceCells(d *compare.Difference, corrected map[*compare.Difference]float64) []any {
	if d == nil {
		return []any{table.None, table.None, table.None, table.None}
	}
	return []any{rounded(d.Difference, 4), rounded(d.Interval.Low, 4), rounded(d.Interval.High, 4),
		rounded(corrected[d], 4)}
}
