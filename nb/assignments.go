package nb

import (
	"fmt"

	"github.com/certspec/certspec/calib/mip"
	"github.com/certspec/certspec/internal/figure"
)

// Assignments draws how an iterate of ADMM assigns its first samples to bins, side by side for each snapshot: a row for
// each sample, a column for each of the bins, counted from 1, in colours from 0 to 1.
func Assignments(caption string, bins int, snapshots ...mip.Snapshot) *Figure {
	for _, s := range snapshots {
		if bins < 1 || len(s.A) == 0 || len(s.A)%bins != 0 {
			end(fmt.Errorf("nb.Assignments: %d values at step %d for %d bins", len(s.A), s.Step, bins))
			return nil
		}
	}
	of := figure.HeatMaps{Columns: len(snapshots), Low: 0, High: 1}
	for _, s := range snapshots {
		of.Maps = append(of.Maps, figure.HeatMap{Title: fmt.Sprintf("step %d", s.Step), X: "bin", Y: "sample",
			Columns: numbers(bins), Rows: numbers(len(s.A) / bins), Values: s.A})
	}
	return heatMaps(caption, of)
}

// numbers are 1 … n.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}
