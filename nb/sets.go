package nb

import (
	"cmp"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/rs/conformal"
	"github.com/certspec/certspec/table"
)

// Coverage says which prediction sets Sets makes. Only Sigma has no default.
type Coverage struct {
	Sigma       float64   // standard deviation of the noise, unit: full range of a value; > 0
	Miscoverage float64   // probability with which a set may miss the label; default 0.1
	Radii       []float64 // within which sets hold; default 0
	Calibrate   int       // images that calibrate, drawn at random; default half of them
	Seed        uint64    // of noise and split; 0: one that nobody knows, so that no attack can depend on it
}

// Sets makes robust conformal prediction sets (Gendler et al. 2022): sets of classes that hold the label with
// probability at least 1 − Miscoverage, at any point within a radius. The probability is over calibration images, test
// image and the noise of both. The table has, by radius, the coverage of the other images with the range in which 95 %
// of such samples fall, and the mean number of classes in a set. An error ends the cell.
func Sets(m classifier.Classifier, data *dataset.Dataset, c Coverage) *table.Table {
	t, err := predictionSets(m, data, c)
	end(err)
	return t
}

func predictionSets(m classifier.Classifier, data *dataset.Dataset, c Coverage) (*table.Table, error) {
	all, err := data.Index(Context(), Progress())
	if err != nil {
		return nil, err
	}
	known := 0
	for _, label := range all.Labels {
		if label >= 0 {
			known++
		}
	}
	if known < all.Len() {
		return nil, fmt.Errorf("%s: %d of %d images have no label; expected labels, by which sets are calibrated", all.Name,
			all.Len()-known, all.Len())
	}
	seed := c.Seed
	for seed == 0 {
		var random [8]byte
		_, _ = crand.Read(random[:]) // which never fails
		seed = binary.LittleEndian.Uint64(random[:])
	}
	calibration, test, err := conformal.Split(all, c.Calibrate, nil, seed)
	if err != nil {
		return nil, fmt.Errorf("nb.Coverage.Calibrate: %w", err)
	}
	o := conformal.Options{Sigma: c.Sigma, Seed: seed, Radii: c.Radii, Miscoverage: cmp.Or(c.Miscoverage, 0.1)}
	if len(o.Radii) == 0 {
		o.Radii = []float64{0}
	}
	made, err := conformal.Measure(Context(), m, calibration, test, nil, o)
	if err != nil {
		return nil, err
	}
	t := Columns("radius", "coverage", "95 % of such samples", "classes in a set")
	for _, r := range made.Radii {
		t.Add(r.Radius, r.Clean.Coverage, fmt.Sprintf("%.3f to %.3f", r.Clean.Range[0], r.Clean.Range[1]), r.Clean.Size)
		if r.Threshold == nil {
			t.Notes = append(t.Notes, fmt.Sprintf("At %g every set has all %d classes: %d calibration images are needed, "+
				"there are %d.", r.Radius, made.Classes, r.Needed, made.Calibration))
		}
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%s on %s, σ = %g: %d images calibrate, %d are tested. A set holds the label "+
		"with probability at least %g at any point within the radius, over calibration images, test image and the noise "+
		"of both.", made.Model, setName(made.Data), made.Sigma, made.Calibration, made.Test, 1-made.Miscoverage))
	if c.Seed != 0 {
		t.Notes = append(t.Notes, "The seed was chosen: the claim holds for perturbations that do not depend on it only.")
	}
	return t, nil
}
