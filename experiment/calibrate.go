package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/mip"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/rs/ledger"
)

// CalibrationResult is what is certified of a model's confidences.
type CalibrationResult struct {
	Ledger string          `json:"ledger"` // digest of the ledger that it is derived from
	Images int             `json:"images"` // labelled
	ADMM   int             `json:"admm_steps"`
	At     []CalibrationAt `json:"at"`
}

// CalibrationAt is what holds within one radius. The errors are nil where no image is certified that far.
type CalibrationAt struct {
	Radius    float64  `json:"radius"`
	Certified int      `json:"certified"` // images, right or wrong
	Accuracy  float64  `json:"certified_accuracy"`
	CCE       *float64 `json:"cce"`  // largest calibration error, exactly, 15 bins
	ACCE      *float64 `json:"acce"` // what ADMM finds of it
	CBS       *float64 `json:"cbs"`  // largest Brier score
}

func (c *CalibrationResult) has(radii []float64) bool {
	for _, r := range radii {
		if c.at(r) == nil {
			return false
		}
	}
	return true
}

func (c *CalibrationResult) at(radius float64) *CalibrationAt {
	i := slices.IndexFunc(c.At, func(a CalibrationAt) bool { return a.Radius == radius })
	if i < 0 {
		return nil
	}
	return &c.At[i]
}

// calibrate certifies with scores, and derives the bounds.
func (r *runner) calibrate(ctx context.Context, j Job) error {
	t := r.Manifest.Tier.Calibration
	images, err := r.set(with(j.Model.Test, t.Images))
	if err != nil {
		return err
	}
	model, err := r.open(modelPath(r.options.Folder, j.Model), j.Model)
	if err != nil {
		return err
	}
	path := calibrationPath(r.options.Folder, j.Model)
	o := t.Certify.Options(j.Model.Noise())
	o.Ledger, o.Progress, o.Scores = path, r.progress, t.Cells
	if o.Scores == 0 {
		o.Scores = ledger.MaxScoreCells
	}
	if _, err := rs.Certify(ctx, model, images, o); err != nil {
		return err
	}
	result, each, err := r.bounds(ctx, path, j.table.Measure.Calibration.Radii)
	if err != nil {
		return err
	}
	if err := each.write(resultPath(r.options.Folder, j.Model, ".calibration.csv")); err != nil {
		return err
	}
	return writeJSON(resultPath(r.options.Folder, j.Model, ".calibration.json"), result)
}

func (r *runner) bounds(ctx context.Context, path string, radii []float64) (*CalibrationResult, *perImage, error) {
	l, err := ledger.Read(path)
	if err != nil {
		return nil, nil, err
	}
	steps := r.Manifest.Tier.Calibration.Steps
	if steps == 0 {
		steps = admmSteps
	}
	result := &CalibrationResult{Ledger: l.Digest, ADMM: steps}
	certified, err := confidences.Certify(path, radii, confidences.Options{})
	if err != nil {
		return nil, nil, err
	}
	bins, err := calib.Uniform(calibrationBins, calib.LeftClosed)
	if err != nil {
		return nil, nil, err
	}
	each, err := certifiedImages(path)
	if err != nil {
		return nil, nil, err
	}
	for k, c := range certified {
		each.certify(c)
		at := CalibrationAt{Radius: c.Radius, Certified: len(c.Images)}
		result.Images = c.Of
		correct := 0
		for _, ok := range c.Correct {
			if ok {
				correct++
			}
		}
		at.Accuracy = float64(correct) / float64(c.Of)
		if len(c.Images) > 0 {
			cbs, _, err := calib.CertifiedBrier(c.Correct, c.Lower, c.Upper)
			if err != nil {
				return nil, nil, err
			}
			p, err := mip.New(c.Correct, c.Lower, c.Upper, bins)
			if err != nil {
				return nil, nil, err
			}
			grid := mip.Grid(c.Confidence)
			for i := range grid {
				grid[i].Steps = steps
			}
			done := 0
			runs, err := p.Search(ctx, c.Confidence, grid, func() {
				done++
				r.progress(progress.State{Task: fmt.Sprintf("calibration error at radius %d of %d", k+1, len(certified)), Done: float64(done), Total: float64(len(grid)), Unit: "runs", Left: -1})
			})
			if err != nil {
				return nil, nil, err
			}
			found, err := p.Compare(c.Confidence, runs)
			if err != nil {
				return nil, nil, err
			}
			at.CBS, at.CCE, at.ACCE = &cbs, &found.Exact, &found.ACCE
		}
		result.At = append(result.At, at)
	}
	return result, each, nil
}

// certifiedImages are the labelled images of a ledger.
func certifiedImages(path string) (*perImage, error) {
	run, err := rs.Open(path)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(slices.Clone(run.Rows), func(row rs.Row) bool { return row.Label < 0 })
	slices.SortFunc(rows, func(a, b rs.Row) int { return a.Image - b.Image })
	each := &perImage{}
	for _, row := range rows {
		each.images, each.correct = append(each.images, row.Image), append(each.correct, row.Correct())
	}
	return each, nil
}

// certify adds the bounds that hold within a radius, rounded outwards.
func (p *perImage) certify(c confidences.Certified) {
	below, above := boundNames(c.Radius)
	lower, upper := p.add(below), p.add(above)
	for k, image := range c.Images {
		i, _ := slices.BinarySearch(p.images, image)
		lower[i], upper[i] = math.Floor(1e6*c.Lower[k])/1e6, math.Ceil(1e6*c.Upper[k])/1e6
	}
}

const (
	calibrationBins = 15   // M of Emde et al. 2025
	admmSteps       = 3000 // of a run, ours
)
