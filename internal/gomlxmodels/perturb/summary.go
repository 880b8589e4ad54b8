package perturb

import (
	"fmt"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/rs"
)

// UnderAttack is the accuracy of a smoothed classifier that attacks within a radius leave.
type UnderAttack struct {
	Radius    float64 `json:"radius"`
	Certified float64 `json:"certified"` // accuracy: a lower bound on the robust one
	// share of the images that are not broken: an upper bound, as far as the attack can tell
	Empirical float64 `json:"empirical"`
	Broken    int     `json:"broken"`
	Undecided int     `json:"undecided"` // not broken, but the smoothed classifier abstains
	Images    int     `json:"images"`
}

// InLedger returns the images whose certificates a run has, with those, in the order of the run. Errors: an image with
// another label; no image of the run.
func InLedger(run *rs.Run, images *imageset.Index) (*imageset.Index, rs.Rows, error) {
	var places []int
	var rows rs.Rows
	for _, row := range run.Rows {
		i := images.Index(row.Image)
		if i < 0 {
			continue
		}
		if images.Labels[i] != row.Label {
			return nil, nil, fmt.Errorf("image %d has the label %d in the ledger, and %d in %s: it is another set "+
				"than that of the ledger, %s",
				row.Image, row.Label, images.Labels[i], images.Name, run.Header.Data.Name)
		}
		rows, places = append(rows, row), append(places, i)
	}
	if len(rows) == 0 {
		return nil, nil, fmt.Errorf("the ledger has no certificate of an image of %s", images.Name)
	}
	return images.Take(places), rows, nil
}

// Summarize puts outcomes of Empirical beside the certificates of the same images, a row for each radius, ascending as
// they were attacked.
func Summarize(radii []float64, rows rs.Rows, outcomes []Outcome) []UnderAttack {
	table := make([]UnderAttack, len(radii))
	for i, certified := range rows.CertifiedAccuracy(radii...) {
		table[i] = UnderAttack{Radius: radii[i], Certified: certified.Value, Images: len(rows)}
	}
	for k, out := range outcomes {
		row := &table[k%len(radii)]
		switch {
		case out.Broken():
			row.Broken++
		case out.Class == rs.Abstain:
			row.Undecided++
		}
		row.Empirical = 1 - float64(row.Broken)/float64(row.Images)
	}
	return table
}
