package measure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

func init() { add(10, func() Measure { return &Calibration{} }) }

// Calibration is the largest calibration error and Brier score that the certified confidences allow: a
// ledger with scores in calibration/, results/MODEL.calibration.json, and the intervals behind it,
// image by image, in results/MODEL.calibration.csv.
type Calibration struct {
	Radii []float64 `yaml:"radii" json:"radii"`
	// Within: of each group, the smallest errors of its models whose accuracy is at most this much
	// below the best of all (certified-calibration tables 2 and 6 to 10); 0: all models, row by row.
	Within float64 `yaml:"within,omitempty" json:"within,omitempty"`
}

// Endings of its results.
const (
	CalibrationFile  = ".calibration.json"
	CalibratedImages = ".calibration.csv"
)

// Certified holds the certified values of a model's confidences.
type Certified struct {
	Ledger string         `json:"ledger"` // digest of the ledger that it is derived from
	Images int            `json:"images"` // labelled
	ADMM   int            `json:"admm_steps"`
	At     []RadiusErrors `json:"at"`
}

// RadiusErrors holds the errors within one radius. The errors are nil where no image is certified that far.
type RadiusErrors struct {
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

	Constant float64 `json:"-"` // Brier score of a confidence that is the accuracy of the certified images
}

// AtRadius are the errors at a radius; nil: not there.
func (c *Certified) AtRadius(radius float64) *RadiusErrors {
	i := slices.IndexFunc(c.At, func(a RadiusErrors) bool { return a.Radius == radius })
	if i < 0 {
		return nil
	}
	return &c.At[i]
}

func (*Calibration) Name() string { return "calibration" }

func (*Calibration) Jobs(_ Place, m *Model) ([]Job, error) {
	return []Job{{Kind: "calibrate", Model: m}}, nil
}

func (c *Calibration) Done(p Place, j Job) (bool, error) {
	var found Certified
	ok, err := ReadJSON(p.Result(j.Model, CalibrationFile), &found)
	open := slices.ContainsFunc(c.Radii, func(r float64) bool { return found.AtRadius(r) == nil })
	return ok && !open, err
}

func (c *Calibration) Cost(to Costs, j Job) error {
	n, err := to.Size(calibrated(to, j.Model))
	if err != nil {
		return err
	}
	to.Searches(len(c.Radii) * len(mip.Grid(nil)))
	return to.Certify(j.Model, n, to.Tier().Calibration.Certify.Options(j.Model.Sigma))
}

// calibrated are the images whose confidences are certified.
func calibrated(p Place, m *Model) string {
	return tier.Select(m.Test, p.Tier().ConfidenceImages(m.Data))
}

// Run certifies with scores, and derives the bounds.
func (c *Calibration) Run(ctx context.Context, t Tools, j Job) error {
	s, name := t.Tier().Calibration, calibrated(t, j.Model)
	images, err := t.Set(name)
	if err != nil {
		return err
	}
	model, err := t.Open(ctx, j.Model, sweep.Cell{})
	if err != nil {
		return err
	}
	o := s.Certify.Options(j.Model.Sigma)
	o.Ledger, o.Progress = t.At("calibration", j.Model.Slug+".ledger"), t.Report
	o.Scores = cmp.Or(s.Cells, ledger.MaxScoreCells)
	looked, err := t.Look(ctx, model, name, o)
	if err != nil {
		return err
	}
	if _, err := rs.Certify(looked, model, images, o); err != nil {
		return err
	}
	result, each, err := c.bounds(ctx, t, o.Ledger)
	if err != nil {
		return err
	}
	if err := each.keep(t, j.Model, CalibratedImages); err != nil {
		return err
	}
	return keepJSON(t, t.Result(j.Model, CalibrationFile), result)
}

func (c *Calibration) bounds(ctx context.Context, t Tools, path string) (*Certified, *PerImage, error) {
	l, err := ledgerio.Read(path)
	if err != nil {
		return nil, nil, err
	}
	result := &Certified{Ledger: l.Digest, ADMM: cmp.Or(t.Tier().Calibration.Steps, admmSteps)}
	certified, err := confidences.Certify(ctx, path, c.Radii, confidences.Options{})
	if err != nil {
		return nil, nil, err
	}
	each, err := certifiedImages(path)
	if err != nil {
		return nil, nil, err
	}
	for k, one := range certified {
		each.addBounds(one)
		result.Images = one.Of
		report := func(done, all float64) {
			t.Report(progress.State{Task: fmt.Sprintf("calibration error at radius %d of %d", k+1,
				len(certified)), Done: done, Total: all, Unit: "runs", Left: -1})
		}
		at, err := errorsWithin(ctx, one, result.ADMM, report)
		if err != nil {
			return nil, nil, err
		}
		result.At = append(result.At, at)
	}
	return result, each, nil
}

// errorsWithin are the largest errors of confidences within a radius.
func errorsWithin(ctx context.Context, c confidences.Certified, steps int,
	report func(done, all float64)) (at RadiusErrors, err error) {
	at = RadiusErrors{Radius: c.Radius, Certified: len(c.Images)}
	correct := 0
	for _, ok := range c.Correct {
		if ok {
			correct++
		}
	}
	at.Accuracy = float64(correct) / float64(c.Of)
	if len(c.Images) == 0 {
		return at, nil
	}
	bins, err := calib.Uniform(study.ConfidenceBins, calib.LeftClosed)
	if err != nil {
		return at, err
	}
	cbs, _, err := calib.CertifiedBrier(c.Correct, c.Lower, c.Upper)
	if err != nil {
		return at, err
	}
	p, err := mip.New(c.Correct, c.Lower, c.Upper, bins)
	if err != nil {
		return at, err
	}
	grid := mip.Grid(c.Confidence)
	for i := range grid {
		grid[i].Steps = steps
	}
	done := 0.
	runs, err := p.Search(ctx, c.Confidence, grid, func() {
		done++
		report(done, float64(len(grid)))
	})
	if err != nil {
		return at, err
	}
	found, err := p.Compare(c.Confidence, runs)
	if err != nil {
		return at, err
	}
	resolution, err := calib.Resolution(c.Correct, c.Confidence, bins)
	at.CBS, at.CCE, at.ACCE, at.Resolution = &cbs, &found.Exact, &found.ACCE, &resolution
	return at, err
}

const admmSteps = 3000 // of a run, ours

// PerImage holds the values that errors of calibration are made of, image by image, for their intervals. In its
// CSV file a value has six decimals.
type PerImage struct {
	Images  []int
	Correct []bool
	Columns []string
	Values  [][]float64 // by column and place of the image; NaN: not there
}

// certifiedImages are the labelled images of a ledger.
func certifiedImages(path string) (*PerImage, error) {
	run, err := rs.Open(path)
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(slices.Clone(run.Rows), func(row rs.Row) bool { return row.Label < 0 })
	slices.SortFunc(rows, func(a, b rs.Row) int { return a.Image - b.Image })
	each := &PerImage{}
	for _, row := range rows {
		each.Images, each.Correct = append(each.Images, row.Image), append(each.Correct, row.Correct())
	}
	return each, nil
}

// AddColumn adds a column of NaN, to be filled in.
func (p *PerImage) AddColumn(column string) []float64 {
	values := make([]float64, len(p.Images))
	for i := range values {
		values[i] = math.NaN()
	}
	p.Columns, p.Values = append(p.Columns, column), append(p.Values, values)
	return values
}

// addBounds adds the bounds that hold within a radius, rounded outwards.
func (p *PerImage) addBounds(c confidences.Certified) {
	below, above := BoundColumns(c.Radius)
	lower, upper := p.AddColumn(below), p.AddColumn(above)
	for k, image := range c.Images {
		i, _ := slices.BinarySearch(p.Images, image)
		lower[i], upper[i] = math.Floor(1e6*c.Lower[k])/1e6, math.Ceil(1e6*c.Upper[k])/1e6
	}
}

// BoundColumns are the columns of the bounds on confidences within a radius.
func BoundColumns(radius float64) (lower, upper string) {
	return fmt.Sprintf("lower %g", radius), fmt.Sprintf("upper %g", radius)
}

// Column is nil for a column that is not there.
func (p *PerImage) Column(column string) []float64 {
	if i := slices.Index(p.Columns, column); i >= 0 {
		return p.Values[i]
	}
	return nil
}

// keep keeps them as a result.
func (p *PerImage) keep(t Tools, m *Model, suffix string) error {
	var columns []*study.Column
	labels := make([]int, len(p.Images))
	for i, correct := range p.Correct {
		if correct {
			labels[i] = 1
		}
	}
	form, _ := study.FormOf(suffix)
	for k, heading := range p.Columns {
		c := &study.Column{Images: p.Images, Labels: labels, Values: p.Values[k], Marks: make([]string, len(p.Images))}
		c.Set, c.Name = form.Column(heading)
		columns = append(columns, c)
	}
	return keepColumns(t, m, suffix, columns)
}

// ReadPerImage returns nil for a file that is not there.
func ReadPerImage(path string) (*PerImage, error) {
	columns, err := ReadColumns(path, "")
	if len(columns) == 0 || err != nil {
		return nil, err
	}
	form, _ := study.FormOf(path)
	p := &PerImage{Images: columns[0].Images}
	for _, label := range columns[0].Labels {
		p.Correct = append(p.Correct, label == 1)
	}
	for _, c := range columns {
		p.Columns, p.Values = append(p.Columns, form.Heading(c.Set, c.Name)), append(p.Values, c.Values)
	}
	return p, nil
}
