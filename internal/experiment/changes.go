package experiment

import "slices"

// Change is by how much a network that was trained further differs, at a radius, from the one that
// this began with (Emde et al. 2025, figures 4, 17 and 18): in certified accuracy, in the largest
// calibration error inside the certified intervals, exactly and as far as ADMM finds it, and in the
// certified Brier score; all of them shares, the mean over the seeds.
type Change struct {
	Title  string  `json:"title"`
	Group  string  `json:"group"`
	Start  string  `json:"start"` // title of the line that it began with
	Radius float64 `json:"radius"`
	// that line has the largest certified accuracy at the radius of all that training began with
	OfBest   bool    `json:"of_best"`
	Accuracy float64 `json:"certified_accuracy"`
	CCE      float64 `json:"cce"`
	ACCE     float64 `json:"acce"`
	CBS      float64 `json:"cbs"`
}

// Changes are those of all lines of a table with certified calibration that began with another line
// of it, line by line and radius by radius. What is not there yet, or certified for no image, is
// left out.
func (f *Filled) Changes() (all []Change) {
	began := make([]int, len(f.Lines)) // line that each began with, or −1
	var starts []int
	for i, l := range f.Lines {
		began[i] = slices.IndexFunc(f.Lines, func(o FilledLine) bool {
			return l.start != "" && slices.Contains(o.Models,
				l.start)
		})
		if began[i] >= 0 {
			starts = append(starts, began[i])
		}
	}
	for i, l := range f.Lines {
		if began[i] < 0 {
			continue
		}
		start := f.Lines[began[i]]
		for k, at := range l.Calibration {
			before := start.Calibration[k]
			if at == nil || before == nil || at.CCE == nil || before.CCE == nil {
				continue
			}
			best := !slices.ContainsFunc(starts, func(s int) bool {
				other := f.Lines[s].Calibration[k]
				return other != nil && other.Accuracy > before.Accuracy
			})
			all = append(all, Change{
				Title: l.Title, Group: l.Group, Start: start.Title, Radius: at.Radius, OfBest: best,
				Accuracy: at.Accuracy - before.Accuracy, CCE: *at.CCE - *before.CCE, ACCE: *at.ACCE - *before.ACCE,
				CBS: *at.CBS - *before.CBS,
			})
		}
	}
	return all
}
