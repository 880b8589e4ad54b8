// Package nearest suggests the name that was probably meant.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// Of is the known name with the fewest edits (Levenshtein, in bytes) to the given one, or one that holds the given
// one of at least three bytes; the first of equals. It panics where none is known.
func Of(name string, known []string) string {
	distance := func(a string) int {
		if len(name) >= 3 && strings.Contains(a, name) {
			return 0
		}
		return edits(a, name)
	}
	return slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
}

func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
