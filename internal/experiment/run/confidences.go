package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/rs/ledger"
)

// certifyConfidences certifies with scores, and derives the bounds.
func (r *Runner) certifyConfidences(ctx context.Context, j plan.Job) error {
	c := j.Measure.(*recipe.Calibration)
	t := r.Manifest.Tier.Calibration
	name := recipe.Select(j.Model.Test, r.Manifest.Tier.ConfidenceImages(j.Model.Data))
	images, err := r.Set(name)
	if err != nil {
		return err
	}
	model, err := r.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	path := store.CalibrationPath(r.Folder, j.Model)
	o := t.Certify.Options(j.Model.Noise())
	o.Ledger, o.Progress, o.Scores = path, r.progress, cmp.Or(t.Cells, ledger.MaxScoreCells)
	if ctx, err = r.look(ctx, model, name, o); err != nil {
		return err
	}
	if _, err := rs.Certify(ctx, model, images, o); err != nil {
		return err
	}
	result, each, err := r.bounds(ctx, path, c.Radii)
	if err != nil {
		return err
	}
	if err := each.Write(r.Result(j.Model, store.CalibratedImages)); err != nil {
		return err
	}
	return store.KeepJSON(r.Result(j.Model, store.CalibrationFile), result)
}

func (r *Runner) bounds(ctx context.Context, path string, radii []float64) (*store.Calibration,
	*store.PerImage, error) {
	l, err := ledgerio.Read(path)
	if err != nil {
		return nil, nil, err
	}
	steps := cmp.Or(r.Manifest.Tier.Calibration.Steps, admmSteps)
	result := &store.Calibration{Ledger: l.Digest, ADMM: steps}
	certified, err := confidences.Certify(ctx, path, radii, confidences.Options{})
	if err != nil {
		return nil, nil, err
	}
	bins, err := calib.Uniform(recipe.CalibrationBins, calib.LeftClosed)
	if err != nil {
		return nil, nil, err
	}
	each, err := certifiedImages(path)
	if err != nil {
		return nil, nil, err
	}
	for k, c := range certified {
		addBounds(each, c)
		at := store.RadiusErrors{Radius: c.Radius, Certified: len(c.Images)}
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
				r.progress(progress.State{Task: fmt.Sprintf("calibration error at radius %d of %d", k+1,
					len(certified)), Done: float64(done), Total: float64(len(grid)), Unit: "runs", Left: -1})
			})
			if err != nil {
				return nil, nil, err
			}
			found, err := p.Compare(c.Confidence, runs)
			if err != nil {
				return nil, nil, err
			}
			resolution, err := calib.Resolution(c.Correct, c.Confidence, bins)
			if err != nil {
				return nil, nil, err
			}
			at.CBS, at.CCE, at.ACCE, at.Resolution = &cbs, &found.Exact, &found.ACCE, &resolution
		}
		result.At = append(result.At, at)
	}
	return result, each, nil
}

// certifiedImages are the labelled images of a ledger.
func certifiedImages(path string) (*store.PerImage, error) {
	run, err := rs.Open(path)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(slices.Clone(run.Rows), func(row rs.Row) bool { return row.Label < 0 })
	slices.SortFunc(rows, func(a, b rs.Row) int { return a.Image - b.Image })
	each := &store.PerImage{}
	for _, row := range rows {
		each.Images, each.Correct = append(each.Images, row.Image), append(each.Correct, row.Correct())
	}
	return each, nil
}

// addBounds adds the bounds that hold within a radius, rounded outwards.
func addBounds(p *store.PerImage, c confidences.Certified) {
	below, above := store.BoundColumns(c.Radius)
	lower, upper := p.AddColumn(below), p.AddColumn(above)
	for k, image := range c.Images {
		i, _ := slices.BinarySearch(p.Images, image)
		lower[i], upper[i] = math.Floor(1e6*c.Lower[k])/1e6, math.Ceil(1e6*c.Upper[k])/1e6
	}
}

const admmSteps = 3000 // of a run, ours

// attackConfidences attacks the confidences of a network.
func (r *Runner) attackConfidences(ctx context.Context, j plan.Job) error {
	a := j.Measure.(*recipe.ConfidenceAttacks)
	t := r.Manifest.Tier.Attack
	path, err := r.path(ctx, j.Model)
	if err != nil {
		return err
	}
	m, err := modelfile.Read(path)
	if err != nil {
		return err
	}
	images, err := r.Load(ctx, recipe.Select(j.Model.Test, t.Images))
	if err != nil {
		return err
	}
	b, err := backend.OpenForTraining(r.Options.Training)
	if err != nil {
		return err
	}
	attacks := perturb.ACEAttacks(a.Epsilon)
	for i := range attacks {
		attacks[i].Steps = t.Steps
	}
	found, err := perturb.Confidences(ctx, b, m, images, attacks, r.progress)
	if err != nil {
		return err
	}
	result := &store.ConfidenceAttacks{Epsilon: a.Epsilon, Images: images.Len(), Bins: a.BinCount()}
	each := &store.PerImage{Images: images.IDs}
	for k, p := range found {
		correct := make([]bool, len(p.Classes))
		hits, mean := 0, 0.0
		for i, c := range p.Classes {
			if correct[i] = c == images.Labels[i]; correct[i] {
				hits++
			}
			mean += p.Confidence[i] / float64(len(p.Classes))
		}
		ece, err := calib.AdaECE(correct, p.Confidence, result.Bins)
		if err != nil {
			return err
		}
		name := "clean"
		if k > 0 {
			name = attacks[k-1].String()
		}
		copy(each.AddColumn(name), p.Confidence)
		if k == 0 {
			each.Correct = correct
			result.Accuracy, result.AdaECE = float64(hits)/float64(len(correct)), ece
			continue
		}
		result.Attacks = append(result.Attacks, store.ConfidenceAttack{Attack: name, AdaECE: ece, Mean: mean})
	}
	if err := each.Write(r.Result(j.Model, store.AttacksImages)); err != nil {
		return err
	}
	return store.KeepJSON(r.Result(j.Model, store.AttacksFile), result)
}
