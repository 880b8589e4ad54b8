package nb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/certspec/certspec/internal/figure"
)

// Assignments draws how iterates of a search assign their first samples to bins, side by side by step: a row for each
// sample, a column for each of the bins, counted from 1, in colours from 0 to 1. The values of a step stand by sample.
func Assignments(caption string, bins int, steps map[int][]float64) *Figure {
	of := figure.HeatMaps{Columns: len(steps), Low: 0, High: 1}
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		values := steps[step]
		if bins < 1 || len(values) == 0 || len(values)%bins != 0 {
			end(fmt.Errorf("nb.Assignments: %d values at step %d for %d bins", len(values), step, bins))
			return nil
		}
		of.Maps = append(of.Maps, figure.HeatMap{Title: fmt.Sprintf("step %d", step), X: "bin", Y: "sample",
			Columns: numbers(bins), Rows: numbers(len(values) / bins), Values: values})
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
