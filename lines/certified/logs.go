package certified

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
)

// ReadLogs reads published logs from a folder with clean/MODEL.tsv and corrupted/MODEL/severity_S/CORRUPTION.tsv.
//
// Errors: a model that lacks one of the two, logs that certlog refuses.
func ReadLogs(root string) ([]Model, error) {
	files, err := filepath.Glob(filepath.Join(escape(root), "clean", "*.tsv"))
	if err != nil {
		return nil, fmt.Errorf("certified: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("certified: %s: no logs clean/MODEL.tsv", root)
	}
	var models []Model
	for _, file := range files {
		m := Model{Name: strings.TrimSuffix(filepath.Base(file), ".tsv"), Shifted: map[Cell]rs.Rows{}}
		if m.Clean, err = rows(file); err != nil {
			return nil, err
		}
		cells, err := filepath.Glob(filepath.Join(escape(root), "corrupted", escape(m.Name), "severity_*", "*.tsv"))
		if err != nil || len(cells) == 0 {
			return nil, fmt.Errorf("certified: %s: no logs corrupted/%s/severity_S/CORRUPTION.tsv", root, m.Name)
		}
		for _, cell := range cells {
			severity, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(cell)), "severity_"))
			if err != nil {
				return nil, fmt.Errorf("certified: %s: its folder is not severity_ and a number", cell)
			}
			key := Cell{strings.TrimSuffix(filepath.Base(cell), ".tsv"), severity}
			if m.Shifted[key], err = rows(cell); err != nil {
				return nil, err
			}
		}
		models = append(models, m)
	}
	return models, nil
}

func rows(file string) (rs.Rows, error) {
	log, err := certlog.Open(file)
	if err != nil {
		return nil, fmt.Errorf("certified: %w", err)
	}
	return log.Rows, nil
}

// escape keeps a path's own letters from being a pattern.
func escape(path string) string {
	if os.PathSeparator == '\\' {
		return path
	}
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// Corrupted are the model's certificates under corruptions, by the images of the base set: ids are taken modulo period.
func (m Model) Corrupted(period int) []compare.Corrupted {
	var all []compare.Corrupted
	for _, cell := range m.cells() {
		rows := slices.Clone(m.Shifted[cell])
		for i := range rows {
			rows[i].Image %= period
		}
		all = append(all, compare.Corrupted{Corruption: cell.Corruption, Severity: cell.Severity,
			Radii: compare.Of(rows.Vectors())})
	}
	return all
}
