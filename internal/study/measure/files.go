package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/study"
)

// ReadText reads a file; nil: it is not there.
func ReadText(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return text, nil
}

// ReadJSON reads a result; ok is whether it is there.
func ReadJSON(path string, to any) (ok bool, err error) {
	text, err := ReadText(path)
	if text == nil || err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return false, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return true, nil
}

// keepJSON keeps a result.
func keepJSON(t Tools, path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	return t.Keep(path, append(text, '\n'))
}

// ReadColumns reads a file of columns; none where it is not there.
func ReadColumns(path, network string) ([]*study.Column, error) {
	text, err := ReadText(path)
	if text == nil || err != nil {
		return nil, err
	}
	form, ok := study.FormOf(filepath.Base(path))
	if !ok {
		return nil, fmt.Errorf("experiment: %s is no file of columns", path)
	}
	columns, err := form.ReadColumns(text, network)
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return columns, nil
}

// keepColumns keeps columns of a network under a suffix, in its form.
func keepColumns(t Tools, m *Model, suffix string, columns []*study.Column) error {
	form, _ := study.FormOf(suffix)
	return t.Keep(t.Result(m, suffix), form.Text(columns))
}

// columnOf is that of a set and a name; nil where there is none.
func columnOf(columns []*study.Column, set, name string) *study.Column {
	k := slices.IndexFunc(columns, func(c *study.Column) bool { return c.Set == set && c.Name == name })
	if k < 0 {
		return nil
	}
	return columns[k]
}

// ReadScores reads a file of bounds or attacks; nil where it is not there or not finished.
func ReadScores(path string) (*record.File, error) {
	f, err := record.Read(path)
	var format *record.FormatError
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && f.Claims == nil, errors.As(err, &format) && format.Empty:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return f, nil
}

// Unfinished reports whether any of some files of bounds or attacks is not there whole.
func Unfinished(paths ...string) (bool, error) {
	for _, path := range paths {
		if f, err := ReadScores(path); f == nil || err != nil {
			return true, err
		}
	}
	return false, nil
}
