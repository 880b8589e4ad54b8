package nb

import (
	"cmp"
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
	if err := conformal.CheckLabels(all); err != nil {
		return nil, err
	}
	seed := cmp.Or(c.Seed, conformal.UnknownSeed())
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
	made.Fresh = c.Seed == 0
	t := Columns("radius", "coverage", "95 % of such samples", "classes in a set")
	for _, r := range made.Radii {
		t.Add(r.Radius, r.Clean.Coverage, span(r.Clean.Range[0], r.Clean.Range[1]), r.Clean.Size)
	}
	t.Notes = append([]string{fmt.Sprintf("%s on %s, σ = %g: %d images calibrate, %d are tested.", made.Model,
		setName(made.Data), made.Sigma, made.Calibration, made.Test)}, made.Notes()...)
	return t, nil
}
