package rs

import "slices"

// Capped are the rows with every radius above the cap cut to it, as a run would have them whose noise samples can certify no more: a log of
// more samples can then be compared with one of fewer. A cap that is not positive changes nothing.
func (r Rows) Capped(limit float64) Rows {
	if !(limit > 0) {
		return r
	}
	cut := slices.Clone(r)
	for i := range cut {
		cut[i].Radius = min(cut[i].Radius, limit)
	}
	return cut
}
