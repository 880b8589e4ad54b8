package measure

import (
	"context"
	"errors"
	"io/fs"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/sweep"
)

func init() { add(0, func() Measure { return Radius{} }) }

// Radius is the certified radius of clean and corrupted images: a ledger for each cell, and of all of
// them results/MODEL.csv. Its settings stand beside the keys of the other measures.
type Radius struct {
	tier.Radius `yaml:",inline"`
}

func (Radius) Name() string { return "radius" }

func (r Radius) Jobs(p Place, m *Model) (jobs []Job, err error) {
	cells, err := p.Tier().Cells(r.Radius)
	for _, c := range cells {
		jobs = append(jobs, Job{Kind: "certify", Model: m, Part: c.String(), Cell: c})
	}
	return jobs, err
}

func (Radius) Done(p Place, j Job) (bool, error) {
	if closed, err := LedgerClosed(ledgerOf(p, j)); closed || err != nil {
		return closed, err
	}
	columns, err := ReadColumns(p.Result(j.Model, ".csv"), j.Model.Name)
	return columnOf(columns, j.Part, "radius") != nil, err
}

func (Radius) Cost(c Costs, j Job) error {
	name, _ := c.ImagesOf(j.Model, j.Cell)
	n, err := c.Size(name)
	if err != nil {
		return err
	}
	return c.Certify(j.Model, n, c.Tier().Certify.Options(j.Model.Sigma))
}

func (Radius) Run(ctx context.Context, t Tools, j Job) error {
	images, err := t.Corrupted(t.ImagesOf(j.Model, j.Cell))
	if err != nil {
		return err
	}
	model, err := t.Open(ctx, j.Model, j.Cell)
	if err != nil {
		return err
	}
	o := t.Tier().Certify.Options(j.Model.Sigma)
	o.Ledger, o.Progress = ledgerOf(t, j), t.Report
	clean, _ := t.ImagesOf(j.Model, sweep.Cell{})
	if ctx, err = t.Look(ctx, model, clean, o); err != nil {
		return err
	}
	_, err = rs.Certify(ctx, model, images, o)
	return err
}

func ledgerOf(p Place, j Job) string {
	return p.At("ledgers", j.Model.Slug, j.Cell.String()+".ledger")
}

// LedgerClosed reports whether a ledger is there with its claims.
func LedgerClosed(path string) (bool, error) {
	l, err := ledgerio.Read(path)
	var format *ledger.FormatError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &format) {
		return false, nil
	}
	return err == nil && l.Claims != nil, err
}
