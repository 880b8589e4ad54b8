package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/mip"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/rs/ledger"
)

// calibrationMeasure is the largest calibration error and Brier score that the certified
// confidences allow: a ledger with scores in calibration/, results/MODEL.calibration.json, and the
// intervals behind it, image by image, in results/MODEL.calibration.csv.
type calibrationMeasure struct {
	Radii []float64 `yaml:"radii" json:"radii"`
	// Within: of each group, the smallest errors of its models whose accuracy is at most this much
	// below the best of all (certified-calibration tables 2 and 6 to 10); 0: all models, row by
	// row.
	Within float64 `yaml:"within,omitempty" json:"within,omitempty"`
}

func (calibrationJobs) Jobs(_ *Place, model *Model) ([]Job, error) {
	return []Job{{Kind: "calibrate", Model: model}}, nil
}

func (c calibrationJobs) Done(p *Place, j Job) (bool, error) {
	var found calibrationResult
	ok, err := readJSON(p.Result(j.Model, ".calibration.json"), &found)
	return ok && found.has(c.Radii), err
}

func (m calibrationJobs) Cost(c *Costs, j Job) error {
	t := c.Manifest.Tier.Calibration
	n, err := c.Size(with(j.Model.Test, c.Manifest.Tier.confidences(j.Model.Data)))
	if err != nil {
		return err
	}
	c.Searches(len(m.Radii) * len(mip.Grid(nil)))
	return c.Certify(j.Model, n, t.Certify.Options(j.Model.Noise()))
}

func (c calibrationReader) Fill(f *TableBuilder, out *Filled) (notes []string, err error) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	t, b := f.Manifest.Tier.Calibration, f.bootstrap
	note("Confidences are certified by the CDF certificate (images %s, %s rule, %d noise samples); CCE is the "+
		"largest calibration error, exactly, with %d bins; ACCE what ADMM finds of it; CBS the largest Brier score.",
		f.Manifest.Tier.confidences(f.kind(out)), t.Certify.Rule, t.Certify.N, calibrationBins)
	note("α = %g for the radius of an image and again for its interval, one image at a time; nothing is stated of "+
		"all at once. Errors at a radius are of the images whose class, right or wrong, is certified there; those "+
		"on which the smoothed network abstains, or whose radius is smaller, are not among them.",
		cmp.Or(t.Certify.Alpha, rs.DefaultAlpha))
	images := make([][]*perImage, len(out.Lines))
	for i := range out.Lines {
		var of []*calibrationResult
		for _, name := range out.Lines[i].Models {
			one := &calibrationResult{}
			if ok, err := readJSON(f.Result(f.Manifest.Model(name), ".calibration.json"), one); err != nil {
				return nil, err
			} else if ok {
				of = append(of, one)
			}
		}
		if images[i], err = f.kept(out.Lines[i], ".calibration.csv"); err != nil {
			return nil, err
		}
		for _, r := range c.Radii {
			at := meanCalibration(of, r)
			setBounds(at, images[i])
			out.Lines[i].Calibration = append(out.Lines[i].Calibration, at)
		}
	}
	if c.Within == 0 {
		return notes, nil
	}
	note("Comparable accuracy: at most %g points of certified accuracy below the best model of any method, "+
		"fine-tuned ones included, which favours methods that raise it.", 100*c.Within)
	note("Low and high of errors: %g %% basic intervals of the bootstrap over images (%d resamples, seed %d), "+
		"with Student's t over seeds where there are two or more, of the models chosen, not of the choice; those "+
		"of differences are paired by image.",
		100*b.Confidence, b.Resamples, b.Seed)
	if out.Selected, err = selected(out.Lines, c.calibrationMeasure); err != nil {
		return nil, err
	}
	return notes, f.spreadSelected(out, images, c.Radii)
}

func (calibrationReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	if len(f.Lines) == 0 || f.Lines[0].Calibration == nil {
		return
	}
	if f.Selected != nil {
		add(f.selection(), "the smallest errors among models of comparable accuracy")
		add(f.spreads(), "these errors, with differences from the method of "+f.Compare)
	}
	add(f.calibration(columns, head), "certified calibration, model by model")
}

func (f *Filled) calibration(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "radius", "certified accuracy", "CCE", "ACCE", "CBS",
		"resolution", "right", "lower", "upper")}
	all, better := 0, 0
	for _, l := range f.Lines {
		for _, at := range l.Calibration {
			if at == nil {
				t.Rows = append(t.Rows, append(head(l), table.None, table.None, table.None, table.None, table.None,
					table.None, table.None, table.None, table.None))
				break
			}
			t.Rows = append(t.Rows, append(head(l), rounded(at.Radius, 2), rounded(at.Accuracy, 4), optional(at.CCE),
				optional(at.ACCE), optional(at.CBS), optional(at.Resolution),
				optional(at.Right), optional(at.Lower), optional(at.Upper)))
			if at.CBS == nil {
				continue
			}
			flat := l
			flat.Title += ", " + constantConfidence
			t.Rows = append(t.Rows, append(head(flat), rounded(at.Radius, 2), rounded(at.Accuracy, 4), rounded(0, 4),
				rounded(0, 4), rounded(at.constant, 4), rounded(0, 4),
				optional(at.Right), optional(at.Right), optional(at.Right)))
			if all++; *at.CBS < at.constant {
				better++
			}
		}
	}
	t.Notes = []string{fmt.Sprintf("A constant confidence is the accuracy of the certified images: it has no "+
		"calibration error, and tells nothing. Inside the intervals the confidences of a model are better (CBS) in "+
		"%d of %d rows.", better, all),
		"Right, lower, upper: of the images certified at a radius the share that is right, and the means of the " +
			"bounds on their confidence. The further lower is below right, the more of an error is too little " +
			"confidence; the further upper is above it, too much."}
	return t
}

// constantConfidence names the row that every table of certified calibration has to compare with.
const constantConfidence = "constant confidence"

func (f *Filled) selection() *table.Table {
	t := &table.Table{Columns: []string{"radius", "best accuracy", "method", "models", "CCE", "ACCE", "CBS"}}
	for i, s := range f.Selected {
		t.Rows = append(t.Rows, []any{rounded(s.Radius, 2), rounded(s.Best, 4), s.Group, s.Models, optional(s.CCE),
			optional(s.ACCE), optional(s.CBS)})
		if i+1 == len(f.Selected) || f.Selected[i+1].Radius != s.Radius {
			t.Rows = append(t.Rows, []any{rounded(s.Radius, 2), rounded(s.Best, 4), constantConfidence, table.None,
				rounded(0, 4), rounded(0, 4), rounded(s.constant, 4)})
			var better []string
			for _, other := range f.Selected {
				if other.Radius == s.Radius && other.CBS != nil && *other.CBS < s.constant {
					better = append(better, other.Group)
				}
			}
			if len(better) == 0 {
				t.Notes = append(t.Notes, fmt.Sprintf("At %g no method is better than a constant confidence.",
					s.Radius))
			} else {
				t.Notes = append(t.Notes, fmt.Sprintf("At %g better than a constant confidence by CBS: %s.", s.Radius,
					strings.Join(better, ", ")))
			}
		}
	}
	return t
}

func (f *Filled) spreads() *table.Table {
	t := &table.Table{Columns: []string{"radius", "method", "figure", "value", "low", "high", "difference", "its low",
		"its high", "p"}}
	var shown []*compare.Difference
	for _, s := range f.Selected {
		for _, of := range []*spread{s.CCESpread, s.CBSSpread} {
			if of != nil {
				shown = append(shown, of.Difference)
			}
		}
	}
	corrected, notes := together(f.confidence, shown)
	t.Notes = notes
	for _, s := range f.Selected {
		for _, figure := range []struct {
			name   string
			value  *float64
			spread *spread
		}{{"CCE", s.CCE, s.CCESpread}, {"CBS", s.CBS, s.CBSSpread}} {
			row := []any{rounded(s.Radius, 2), s.Group, figure.name, optional(figure.value)}
			if figure.spread == nil {
				row = append(row, table.None, table.None)
			} else {
				row = append(row, rounded(figure.spread.Interval.Low, 4), rounded(figure.spread.Interval.High, 4))
			}
			if figure.spread == nil {
				row = append(row, differenceCells(nil, corrected)...)
			} else {
				row = append(row, differenceCells(figure.spread.Difference, corrected)...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// calibrationResult is what is certified of a model's confidences.
type calibrationResult struct {
	Ledger string          `json:"ledger"` // digest of the ledger that it is derived from
	Images int             `json:"images"` // labelled
	ADMM   int             `json:"admm_steps"`
	At     []calibrationAt `json:"at"`
}

// calibrationAt is what holds within one radius. The errors are nil where no image is certified that far.
type calibrationAt struct {
	Radius    float64  `json:"radius"`
	Certified int      `json:"certified"` // images, right or wrong
	Accuracy  float64  `json:"certified_accuracy"`
	CCE       *float64 `json:"cce"`  // largest calibration error, exactly, 15 bins
	ACCE      *float64 `json:"acce"` // what ADMM finds of it
	CBS       *float64 `json:"cbs"`  // largest Brier score
	// How far the accuracies of the bins are apart; results that are older lack it.
	Resolution *float64 `json:"resolution,omitempty"`
	Right      *float64 `json:"right,omitempty"` // share of the certified images
	// Means of the bounds on their confidence; nil without the intervals behind.
	Lower *float64 `json:"lower,omitempty"`
	Upper *float64 `json:"upper,omitempty"`

	constant float64 // Brier score of a confidence that is the accuracy of the certified images
}

func (c *calibrationResult) has(radii []float64) bool {
	for _, r := range radii {
		if c.at(r) == nil {
			return false
		}
	}
	return true
}

func (c *calibrationResult) at(radius float64) *calibrationAt {
	i := slices.IndexFunc(c.At, func(a calibrationAt) bool { return a.Radius == radius })
	if i < 0 {
		return nil
	}
	return &c.At[i]
}

// bounds sets Lower and Upper.
func setBounds(at *calibrationAt, of []*perImage) {
	if at == nil || at.CCE == nil || len(of) == 0 {
		return
	}
	var lower, upper float64
	below, above := boundNames(at.Radius)
	for _, p := range of {
		high := p.of(above)
		var n, low, up float64
		for i, v := range p.of(below) {
			if !math.IsNaN(v) {
				n, low, up = n+1, low+v, up+high[i]
			}
		}
		if n == 0 {
			return
		}
		lower, upper = lower+low/n/float64(len(of)), upper+up/n/float64(len(of))
	}
	at.Lower, at.Upper = &lower, &upper
}

// Do certifies with scores, and derives the bounds.
func (c calibrationRunner) Do(ctx context.Context, r *Runner, j Job) error {
	t := r.Manifest.Tier.Calibration
	name := with(j.Model.Test, r.Manifest.Tier.confidences(j.Model.Data))
	images, err := r.set(name)
	if err != nil {
		return err
	}
	model, err := r.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	path := calibrationPath(r.Folder, j.Model)
	o := t.Certify.Options(j.Model.Noise())
	o.Ledger, o.Progress, o.Scores = path, r.progress, t.Cells
	if o.Scores == 0 {
		o.Scores = ledger.MaxScoreCells
	}
	if o.Witness, err = r.look(ctx, model, name, o); err != nil {
		return err
	}
	if _, err := rs.Certify(ctx, model, images, o); err != nil {
		return err
	}
	result, each, err := r.bounds(ctx, path, c.Radii)
	if err != nil {
		return err
	}
	if err := each.write(r.Result(j.Model, ".calibration.csv")); err != nil {
		return err
	}
	return keepJSON(r.Result(j.Model, ".calibration.json"), result)
}

func (r *Runner) bounds(ctx context.Context, path string, radii []float64) (*calibrationResult, *perImage, error) {
	l, err := ledger.Read(path)
	if err != nil {
		return nil, nil, err
	}
	steps := r.Manifest.Tier.Calibration.Steps
	if steps == 0 {
		steps = admmSteps
	}
	result := &calibrationResult{Ledger: l.Digest, ADMM: steps}
	certified, err := confidences.Certify(ctx, path, radii, confidences.Options{})
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
		addBounds(each, c)
		at := calibrationAt{Radius: c.Radius, Certified: len(c.Images)}
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
func addBounds(p *perImage, c confidences.Certified) {
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
