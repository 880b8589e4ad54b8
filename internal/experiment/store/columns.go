package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

// radius of a row of a ledger.
func radius(row rs.Row) float64 { return row.Radius }

// share of the noise samples of the last look that are in the certified class.
func share(row rs.Row) float64 {
	if row.N == 0 {
		return 0
	}
	return float64(row.K) / float64(row.N)
}

// GivenRadii are certified radii that are there, as those of a network: of a closed ledger or a published log, on the
// clean images, or of a file of radii. Those of a log are cut at the largest radius that the tier's rule can prove.
func (m *Manifest) GivenRadii(of *recipe.Model) ([]*study.Column, error) {
	path := of.Results
	if filepath.Ext(path) == ".csv" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		form, _ := study.FormOf(".csv")
		columns, err := form.ReadColumns(text, of.Name)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", path, err)
		}
		return columns, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	closed, err := measure.LedgerClosed(path)
	if err != nil {
		return nil, err
	}
	given, err := certlog.ReadResults(path)
	switch isLedger := filepath.Ext(path) == ".ledger" || err == nil && given.Log == nil; {
	case isLedger && !closed:
		return nil, fmt.Errorf("experiment: %s is no closed ledger; certspec certify with the same settings goes on with "+
			"one", path)
	case err != nil:
		return nil, fmt.Errorf("experiment: %w", err)
	}
	rows := given.Rows
	if given.Log != nil && of.Noise() > 0 {
		plan, err := m.Tier.Certify.Options(of.Noise()).Plan()
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", of.Name, err)
		}
		rows = rows.Capped(plan.RadiusCap())
	}
	c := study.ColumnOf(study.Key{Network: of.Name, Set: sweep.Cell{}.String(), Name: "radius"}, rows, radius)
	if len(c.Images) == 0 {
		return nil, fmt.Errorf("experiment: %s has no labelled images", path)
	}
	return []*study.Column{c}, nil
}

// Radii reads those of a model, and refuses what the tier cannot have certified.
func (m *Manifest) Radii(folder string, of *recipe.Model) ([]*study.Column, error) {
	most, err := m.mostRadius(of)
	if err != nil {
		return nil, err
	}
	return m.checked(ResultPath(folder, of, ".csv"), of, most)
}

// shares reads the shares of noise samples behind them.
func (m *Manifest) shares(folder string, of *recipe.Model) ([]*study.Column, error) {
	return m.checked(ResultPath(folder, of, SharesSuffix), of, 1)
}

func (m *Manifest) checked(path string, of *recipe.Model, most float64) ([]*study.Column, error) {
	columns, err := measure.ReadColumns(path, of.Name)
	if err != nil || of.Results != "" {
		return columns, err
	}
	return columns, m.checkRadii(path, of, columns, most)
}

// KeepColumns keeps columns of a model under a suffix, their sets in a given order; those that are not in it come last.
func KeepColumns(folder string, m *recipe.Model, suffix string, columns []*study.Column, order []string) error {
	place := func(c *study.Column) int {
		if i := slices.Index(order, c.Set); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(columns, func(a, b *study.Column) int { return place(a) - place(b) })
	form, _ := study.FormOf(suffix)
	return Keep(ResultPath(folder, m, suffix), form.Text(columns))
}

// WriteJSON writes what is no result.
func WriteJSON(path string, v any) error { return putJSON(path, v, atomicfile.Write) }

// KeepJSON is writeJSON for a result.
func KeepJSON(path string, v any) error { return putJSON(path, v, Keep) }

func putJSON(path string, v any, write func(string, []byte) error) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	return write(path, append(text, '\n'))
}
