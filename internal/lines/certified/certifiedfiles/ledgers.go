// Package certifiedfiles reads certificates under corruptions from ledgers and published logs.
package certifiedfiles

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
)

// ReadLedgers reads folders of ledgers as package sweep writes them, clean.ledger and CORRUPTION-SEVERITY.ledger, each
// of one model, which gets the folder's name.
//
// Errors: those of sweep.Open; a folder without clean or without corrupted images; a ledger that is not finished; a
// rule that is not known.
func ReadLedgers(folders ...string) ([]certified.Model, error) {
	var models []certified.Model
	for _, folder := range folders {
		s, err := sweep.Open(folder)
		switch {
		case err != nil:
			return nil, err
		case len(s.Unfinished) > 0:
			return nil, fmt.Errorf("certified: %s: the ledger of %s is not finished", folder, s.Unfinished[0])
		case s.Clean == nil || len(s.Corrupted) == 0:
			return nil, fmt.Errorf("certified: %s: expected clean.ledger and ledgers of corruptions, such as "+
				"fog-3.ledger", folder)
		}
		plan, err := stopping.Of(s.Header)
		if err != nil {
			return nil, fmt.Errorf("certified: %s: %w", folder, err)
		}
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return nil, fmt.Errorf("certified: %w", err)
		}
		m := certified.Model{Name: filepath.Base(absolute),
			Setting: certified.SettingOf(plan.Header(), s.Header.Sigma, plan.Alpha(), plan.RadiusCap()),
			Header:  &s.Clean.Header, Clean: labelled(s.Clean.Rows), Shifted: map[certified.Cell]rs.Rows{},
			Data: map[certified.Cell]string{{}: s.Clean.Header.Data.Digest}}
		for _, c := range s.Corrupted {
			cell := certified.Cell{Corruption: c.Corruption, Severity: c.Severity}
			m.Shifted[cell], m.Data[cell] = labelled(c.Rows), c.Header.Data.Digest
		}
		models = append(models, m)
	}
	return models, nil
}

// labelled leaves out rows without a label, in their own memory: there is a row for each image of each cell.
func labelled(rows rs.Rows) rs.Rows {
	return slices.DeleteFunc(rows, func(row rs.Row) bool { return row.Label < 0 })
}
