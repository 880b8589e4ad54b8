package nb

import (
	"fmt"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// Starts reads what networks have, image by image, that one method trained from several random weights: the average
// certified radius on some cells, such as clean, fog-3, C or C-bar. The pattern names a path for each start: a folder
// of ledgers, or a file of results; see study.OpenFiles. An error ends the cell.
func Starts(pattern, cells string) *study.Sample {
	s, err := starts(pattern, cells)
	end(err)
	return s
}

func starts(pattern, cells string) (*study.Sample, error) {
	folder, err := study.OpenFiles(pattern)
	if err != nil {
		return nil, err
	}
	return folder.Sample(study.Cell{Row: folder.Rows[0].Title, Set: cells, What: "acr"})
}

// Interval estimates a statistic of a sample with its 95 % interval and p-value, by drawing images and starts again as
// the design says; see resample.Run. An error ends the cell.
func Interval(d resample.Design, statistic func(resample.Draw) float64) resample.Estimate {
	found, err := resample.Run(Context(), d, 1, func(d resample.Draw, values []float64) error {
		values[0] = statistic(d)
		return nil
	}, resample.Options{})
	end(err)
	if err != nil {
		return resample.Estimate{}
	}
	return found[0]
}

// Verdicts judges differences together: the p-value of each is corrected by Holm for all of them. A difference is
// higher or lower where that is below 0.05 and its interval is without 0; else it is open. An error ends the cell.
func Verdicts(claims []string, found ...resample.Estimate) *table.Table {
	if len(claims) != len(found) || len(found) == 0 {
		end(fmt.Errorf("nb.Verdicts: %d claims for %d differences; expected one for each", len(claims), len(found)))
		return nil
	}
	var p []float64
	for _, e := range found {
		p = append(p, e.P)
	}
	holm, err := resample.Holm(p)
	end(err)
	if err != nil {
		return nil
	}
	t := Columns("difference", "value", "95 %", "p (Holm)", "verdict")
	for i, e := range found {
		verdict := direction(e.Interval.Low, e.Interval.High)
		if !(holm[i] < 0.05) {
			verdict = "open"
		}
		t.Add(claims[i], e.Value, span(e.Interval.Low, e.Interval.High), table.Rounded{Value: holm[i], Decimals: 4}, verdict)
	}
	t.Notes = []string{fmt.Sprintf("p is corrected by Holm for the %d differences of this table; each interval is for "+
		"its own difference.", len(found))}
	return t
}
