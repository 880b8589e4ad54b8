package certified

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
	"github.com/certspec/certspec/rs/sweep"
)

// ReadLedgers reads folders of ledgers as package sweep writes them, clean.ledger and CORRUPTION-SEVERITY.ledger, each
// of one model, which gets the folder's name.
//
// Errors: those of sweep.Open; a folder without clean or without corrupted images; a ledger that is not finished; a
// rule that is not known.
func ReadLedgers(folders ...string) ([]Model, error) {
	var models []Model
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
		plan, err := rule.Of(s.Header)
		if err != nil {
			return nil, fmt.Errorf("certified: %s: %w", folder, err)
		}
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return nil, fmt.Errorf("certified: %w", err)
		}
		m := Model{Name: filepath.Base(absolute), Setting: SettingOf(plan, s.Header.Sigma),
			Clean: labelled(s.Clean.Rows), Shifted: map[Cell]rs.Rows{},
			Data: map[Cell]string{{}: s.Clean.Header.Data.Digest}}
		for _, c := range s.Corrupted {
			cell := Cell{c.Corruption, c.Severity}
			m.Shifted[cell], m.Data[cell] = labelled(c.Rows), c.Digest
		}
		models = append(models, m)
	}
	return models, nil
}

// labelled leaves out rows without a label, in their own memory: there is a row for each image of each cell.
func labelled(rows rs.Rows) rs.Rows {
	return slices.DeleteFunc(rows, func(row rs.Row) bool { return row.Label < 0 })
}
