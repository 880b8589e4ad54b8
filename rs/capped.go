package rs

import "slices"

// Capped returns the rows with every radius above the cap cut to it, as in a run whose noise samples can certify no
// more. So a log of more samples can be compared with one of fewer. A cap that is not positive changes nothing.
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
