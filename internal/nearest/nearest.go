// Package nearest suggests the name that was probably meant.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// Of is the known name with the fewest edits (of bytes; two neighbours exchanged are one) to the
// given one, or one that holds the given one of at least three bytes; the first of equals. It
// panics where none is known.
func Of(name string, known []string) string {
	distance := func(a string) int {
		if len(name) >= 3 && strings.Contains(a, name) {
			return 0
		}
		return edits(a, name)
	}
	return slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
}

// edits is the least number of bytes that are put in, taken out, replaced, or exchanged with their neighbour.
func edits(a, b string) int {
	at := make([][]int, len(a)+1)
	for i := range at {
		at[i] = make([]int, len(b)+1)
		at[i][0] = i
	}
	for j := range at[0] {
		at[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := at[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			at[i][j] = min(replace, at[i-1][j]+1, at[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				at[i][j] = min(at[i][j], at[i-2][j-2]+1)
			}
		}
	}
	return at[len(a)][len(b)]
}

// DidYouMean is "; did you mean NAME?" where a known name is close to the given one: at most a
// third of its bytes are other ones, or it holds the given one. Else it is empty.
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
