package certifiedfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/rs"
)

// ReadLogs reads published logs from a folder with clean/MODEL.tsv and corrupted/MODEL/severity_S/CORRUPTION.tsv.
//
// Errors: a model that lacks one of the two, logs that certlog refuses.
func ReadLogs(root string) ([]certified.Model, error) {
	files, err := filepath.Glob(filepath.Join(escape(root), "clean", "*.tsv"))
	if err != nil {
		return nil, fmt.Errorf("certified: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("certified: %s: no logs clean/MODEL.tsv", root)
	}
	var models []certified.Model
	for _, file := range files {
		m := certified.Model{Name: strings.TrimSuffix(filepath.Base(file), ".tsv"), Shifted: map[certified.Cell]rs.Rows{}}
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
			key := certified.Cell{Corruption: strings.TrimSuffix(filepath.Base(cell), ".tsv"), Severity: severity}
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
