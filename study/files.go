package study

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/sweep"
)

// OpenFiles opens rows of one's own. Each is named by a pattern of paths, as in "runs/ours-?"; each
// path that it matches is a start, a network trained from other random weights. A path is a folder of
// ledgers, as certspec sweep writes one, or a file of results of certspec experiment run. The sets are
// those that all paths have.
//
// Errors: a pattern that matches nothing; a file that is not in its form; unfinished ledgers; folders
// whose settings differ, as σ or n; paths without a set in common.
func OpenFiles(patterns ...string) (*Folder, error) {
	f := &Folder{Name: strings.Join(patterns, ", ")}
	var common []string
	var header *ledger.Header // of the first folder
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("study: %s matches no file; expected folders of ledgers, or files of results", pattern)
		}
		row := Row{Title: pattern}
		for k, path := range paths {
			columns, err := columnsOf(path, &header)
			if err != nil {
				return nil, fmt.Errorf("study: %s: %w", path, err)
			}
			var sets []string
			for _, c := range columns {
				sets = append(sets, c.Set)
			}
			if common == nil {
				common = sets
			}
			common = slices.DeleteFunc(common, func(set string) bool { return !slices.Contains(sets, set) })
			f.Add(columns...)
			row.Starts = append(row.Starts, Start{Network: path, Seed: uint64(k + 1)})
		}
		f.Rows = append(f.Rows, row)
	}
	if len(common) == 0 {
		return nil, fmt.Errorf("study: %s: no set is in all paths", f.Name)
	}
	for _, set := range slices.Compact(common) {
		cell, err := cellOf(set)
		if err != nil {
			return nil, fmt.Errorf("study: %s: %w", f.Name, err)
		}
		f.cells = append(f.cells, cell)
	}
	return f, nil
}

// columnsOf are the columns of a path, which is their network. Ledgers have the settings of the header,
// or are the first.
func columnsOf(path string, header **ledger.Header) ([]*Column, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return columnsOfSweep(path, header)
	}
	form, ok := FormOf(path)
	if !ok {
		return nil, fmt.Errorf("expected a folder of ledgers, or a .csv file of certspec experiment run")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return form.ReadColumns(text, path)
}

func columnsOfSweep(path string, header **ledger.Header) (columns []*Column, err error) {
	s, err := sweep.Open(path)
	if err != nil {
		return nil, err
	}
	if len(s.Unfinished) > 0 {
		return nil, fmt.Errorf("%s is not finished; the same call of certspec sweep goes on", s.Unfinished[0])
	}
	if *header == nil {
		*header = &s.Header
	}
	for _, d := range compare.Differ(*header, &s.Header) {
		if !slices.Contains([]string{"model", "images", "engine", "seed"}, d.Name) {
			return nil, fmt.Errorf("its %s is %s, that of the folders before %s; starts have one setting", d.Name, d.B, d.A)
		}
	}
	add := func(set string, rows rs.Rows) {
		for _, r := range rows {
			if r.Label < 0 {
				err = fmt.Errorf("image %d of %s has no label", r.Image, set)
			}
		}
		columns = append(columns, ColumnOf(Key{path, set, "radius"}, rows, func(r rs.Row) float64 { return r.Radius }))
	}
	if s.Clean != nil {
		add(sweep.Cell{}.String(), s.Clean.Rows)
	}
	for _, c := range s.Corrupted {
		add(fmt.Sprintf("%s-%d", c.Corruption, c.Severity), c.Rows)
	}
	return columns, err
}

// cellOf reads the name of a set, as in clean or fog-3.
func cellOf(set string) (sweep.Cell, error) {
	if set == (sweep.Cell{}).String() {
		return sweep.Cell{}, nil
	}
	at := strings.LastIndex(set, "-")
	name := set[:max(0, at)]
	number, err := strconv.Atoi(set[at+1:])
	if err != nil {
		return sweep.Cell{}, fmt.Errorf("the set %q; expected clean, or a corruption and its severity as fog-3", set)
	}
	return sweep.Cell{Corruption: name, Severity: number, Setting: corrupt.Setting{Name: name, Severity: number}}, nil
}

// Sample has the numbers of a cell's row by start and image. What the cell asks is a mean over images.
//
// Errors: a row or set that is not there; a statistic; a file that is not in its form.
func (f *Folder) Sample(c Cell) (*Sample, error) {
	all, err := f.samples(c)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("study: %s has no %s on %s", c.Row, c.What, c.Set)
	case all[0].q.Each == nil:
		return nil, fmt.Errorf("study: %s is no mean over images; its difference from another row has an interval", c.What)
	}
	return sampleOf(all), nil
}
