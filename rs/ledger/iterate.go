package ledger

import (
	"iter"
)

// Images gives the looks of one image after the other, in the order of the file.
func (l *Ledger) Images() iter.Seq[[]Look] {
	return func(yield func([]Look) bool) {
		for from := 0; from < len(l.Looks); {
			to := from + 1
			for to < len(l.Looks) && l.Looks[to].Image == l.Looks[from].Image {
				to++
			}
			if !yield(l.Looks[from:to:to]) {
				return
			}
			from = to
		}
	}
}
