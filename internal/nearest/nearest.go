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

// DidYouMean is "; did you mean NAME?" where a known name is close to the given one: at most a third of its bytes are other ones, or it
// holds the given one. Else it is empty.
func DidYouMean(name string, known []string) string {
	if name == "" || len(known) == 0 {
		return ""
	}
	near := Of(name, known)
	lower := strings.ToLower(name)
	if len(name) >= 3 && strings.Contains(near, lower) || edits(near, lower) <= max(1, (len(name)+2)/3) {
		return "; did you mean " + near + "?"
	}
	return ""
}
