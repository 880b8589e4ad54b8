// Package report says for a reviewer what a ledger claims, and how to check it.
package report

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"

	"gonum.org/v1/plot/vg/draw"
)

// Options choose what a report states. The zero value has defaults for all.
type Options struct {
	Radii        []float64 // of the certified accuracies; nil: those of the ledger's rule
	Simultaneous bool      // all claims at once at the ledger's α: each is derived again at its share of it
	// of the interval for the average certified radius; its confidence is that of all intervals
	Bootstrap resample.Options
	DataName  string // what the data are called in the words, in the place of their path; "": a short name
}

// Report is the figures of a ledger. Accuracies and radii are over the labelled images that are decided.
type Report struct {
	DataName string        `json:"-"`
	File     string        `json:"file"`
	Header   ledger.Header `json:"header"` // with Simultaneous, at the level of the report
	Digest   string        `json:"digest"` // "" while the ledger is unfinished
	Complete bool          `json:"complete"`

	Images     int               `json:"images"`  // of the data, or of the shard
	Decided    int               `json:"decided"` // of these
	Labelled   int               `json:"labelled"`
	Correct    int               `json:"correct"` // certified and right
	Wrong      int               `json:"wrong"`   // certified, but another class than the label's
	Abstained  int               `json:"abstained"`
	Abstention resample.Interval `json:"abstention_interval"` // of the population's rate of abstention
	// samples with an output that is not finite, or without noise
	Misses int `json:"misses"`
	Passes int `json:"passes"` // samples through the model

	// of noise samples that the run asked again, from the file beside the ledger
	Checks purity.Found  `json:"checks"`
	Look   *purity.Found `json:"look,omitempty"` // before the run, from there; nil: not known

	Alpha         float64 `json:"alpha"`          // of the claim on one image, as reported
	LedgerAlpha   float64 `json:"ledger_alpha"`   // as run
	Simultaneous  bool    `json:"simultaneous"`   // all claims hold together with probability at least 1 − LedgerAlpha
	ExpectedFalse float64 `json:"expected_false"` // most false claims to be expected, Decided·Alpha
	// largest radius that could be certified; 0 where the level is too strict for any
	RadiusCap float64 `json:"radius_cap"`

	ACR               *Mean                `json:"acr"` // nil without labels
	CertifiedAccuracy []Accuracy           `json:"certified_accuracy"`
	Bounds            rs.BoundDistribution `json:"bounds"`
	Curve             rs.Curve             `json:"curve"`
	Bootstrap         resample.Options     `json:"bootstrap"`
}

// Mean is an average with its bootstrap interval.
type Mean struct {
	Value    float64           `json:"value"`
	Interval resample.Interval `json:"interval"`
}

// Accuracy is a certified accuracy with its exact interval for the population.
type Accuracy struct {
	rs.Accuracy
	Interval resample.Interval `json:"interval"`
}

// New reads a ledger and computes the figures of its report. Errors: as of rs.Open; options
// out of range, as *rule.OptionError; a ledger of a shard by blocks, which certifies nothing alone;
// one without a decided image; that of ctx.
func New(ctx context.Context, path string, o Options) (*Report, error) {
	run, err := rs.Open(path)
	if err != nil {
		return nil, err
	}
	h := run.Header
	if h.Shard != nil && h.Shard.By == ledger.ShardBlocks {
		return nil, fmt.Errorf("report: %s is a shard by blocks, which certifies nothing alone: merge the shards "+
			"first (certspec merge)", path)
	}
	if len(run.Rows) == 0 {
		return nil, fmt.Errorf("report: %s: no image is decided yet", path)
	}
	radii := o.Radii
	if radii == nil {
		radii = run.Radii()
	}
	r := &Report{
		DataName: o.DataName, File: path, Digest: run.Digest, Complete: run.Complete() && run.Digest != "",
		Images: run.Images(), LedgerAlpha: h.Alpha, Simultaneous: o.Simultaneous,
	}
	if r.Checks, err = beside.ReadChecks(path); err != nil {
		return nil, err
	}
	first, err := beside.ReadFirst(path)
	if err != nil {
		return nil, err
	}
	if first != nil {
		r.Look = &first.Look
	}
	if o.Simultaneous {
		if run, err = rs.OpenAt(path, h.Alpha/float64(max(1, h.Data.Images))); err != nil {
			return nil, err
		}
	}
	if err := r.measure(ctx, run, radii, o.Bootstrap); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Report) measure(ctx context.Context, run *rs.Run, radii []float64, b resample.Options) (err error) {
	rows := run.Rows
	r.Header, r.Alpha = run.Header, run.Header.Alpha
	r.Decided, r.Abstained, r.Misses, r.Passes = len(rows), rows.Abstained(), rows.Misses(), rows.Passes()
	r.ExpectedFalse = float64(r.Decided) * r.Alpha
	r.RadiusCap = run.RadiusCap()
	for _, row := range rows {
		switch {
		case row.Label < 0:
		case row.Correct():
			r.Correct++
		case row.Certified():
			r.Wrong++
		}
	}
	acr := rows.ACR()
	r.Labelled = acr.Images
	r.Bounds, r.Curve = rows.Bounds(), rows.Curve()
	if r.Bootstrap, err = b.Resolved(); err != nil {
		return err
	}
	interval, err := compare.ACR(ctx, compare.Of(rows.Vectors()), b)
	if err != nil {
		return err
	}
	if r.Labelled > 0 {
		r.ACR = &Mean{acr.Value, interval}
	}
	if r.Abstention, err = rs.ExactInterval(r.Abstained, r.Decided, r.Bootstrap.Confidence); err != nil {
		return err
	}
	r.CertifiedAccuracy = []Accuracy{}
	for _, a := range rows.CertifiedAccuracy(radii...) {
		i, err := a.Interval(r.Bootstrap.Confidence)
		if err != nil {
			return err
		}
		r.CertifiedAccuracy = append(r.CertifiedAccuracy, Accuracy{a, i})
	}
	return nil
}

// HTML is the report as one page that needs no other file.
func (r *Report) HTML() (string, error) {
	p, err := r.picture()
	if err != nil {
		return "", err
	}
	return r.document(p).html(), nil
}

// Markdown is the report in the Markdown of GitHub.
func (r *Report) Markdown() string { return r.document(nil).markdown() }

// LaTeX is the report as a document that pdflatex sets.
func (r *Report) LaTeX() string { return r.document(nil).latex() }

// name is the ledger's file without its folder.
func (r *Report) name() string { return filepath.Base(r.File) }

// picture is the curve; nil without labels.
func (r *Report) picture() (*picture, error) {
	if r.Labelled == 0 {
		return nil, nil
	}
	curve := figure.Curve{Radii: r.Curve.Radii, Accuracy: r.Curve.Accuracy, Images: r.Labelled, Cap: r.RadiusCap}
	if n := len(curve.Radii); n > 0 {
		curve.Cap = max(curve.Cap, curve.Radii[n-1])
	}
	const caption = "Certified accuracy against the radius: at radius r, the fraction of the labelled images whose " +
		"certified class is right and whose radius is at least r, with its 95 % interval."
	data, err := figure.SVG(figure.Width, figure.Height, caption, func(c draw.Canvas) {
		figure.CertifiedAccuracy(figure.Inset(c), figure.Words{}, curve)
	})
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return &picture{inline(data), caption}, nil
}
