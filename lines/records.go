package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/textfile"
)

// Record is one model as a line of JSON, in RobustNets' field names: accuracies in percent, all other numbers in their
// own unit. It adds what the released file lacks: images behind each accuracy, deviations and counts behind each mean,
// and the settings that made the numbers.
type Record struct {
	Model string `json:"model"`
	// e.g. architecture, augmentation, method, layout, sparsity, seed
	Labels     map[string]string  `json:"labels,omitempty"`
	Percent    map[string]float64 `json:"percent,omitempty"`    // accuracies, 0 to 100
	Images     map[string]int     `json:"images,omitempty"`     // n behind an accuracy
	Numbers    map[string]float64 `json:"numbers,omitempty"`    // the other predictors
	Deviations map[string]float64 `json:"deviations,omitempty"` // sample standard deviation behind a mean
	Counts     map[string]int     `json:"counts,omitempty"`     // paths or images behind a mean
	Settings   map[string]any     `json:"settings,omitempty"`   // e.g. window, wrap, pairs, seed
}

// Record is the model as a record, without deviations, counts and settings.
func (m Model) Record() Record {
	r := Record{Model: m.Name, Labels: maps.Clone(m.Labels), Numbers: maps.Clone(m.Numbers),
		Percent: map[string]float64{}, Images: map[string]int{}}
	for field, a := range m.Accuracies {
		r.Percent[field] = 100 * a.Share
		if a.N > 0 {
			r.Images[field] = a.N
		}
	}
	return r
}

// model is the model of a record. Errors: a percentage outside 0 to 100, images of a field that is
// no accuracy.
func (r Record) model() (Model, error) {
	m := Model{Name: r.Model, Labels: r.Labels, Numbers: r.Numbers, Accuracies: map[string]Accuracy{}}
	for field, v := range r.Percent {
		a, err := percent(v, r.Images[field])
		if err != nil {
			return Model{}, fmt.Errorf("%s: %w", field, err)
		}
		m.Accuracies[field] = a
	}
	for field := range r.Images {
		if _, ok := r.Percent[field]; !ok {
			return Model{}, unknown("accuracy", field, slices.Sorted(maps.Keys(r.Percent)))
		}
	}
	return m, m.check()
}

// PutRecord adds a record to a file of records, or replaces the record of the same model. It creates the file
// where it is missing. Several processes may do so at once. A last line that is cut off is dropped. Errors: a
// record that Read would refuse; a file that it would.
func PutRecord(path string, r Record) error {
	if _, err := r.model(); err != nil {
		return fmt.Errorf("lines: model %q: %w", r.Model, err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("lines: model %q: %w", r.Model, err)
	}
	err = journal.Update(path, func(old []byte) ([]byte, error) {
		return withRecord(path, textfile.Cut(old[:journal.Whole(old)]), r.Model, append(line, '\n'))
	})
	var other *FieldError
	if err != nil && !errors.As(err, &other) {
		return fmt.Errorf("lines: %w", err)
	}
	return err
}

// withRecord puts the line of a model among those of a file.
func withRecord(path string, text []byte, model string, line []byte) (out []byte, err error) {
	placed := false
	for before := range bytes.Lines(text) {
		var other struct {
			Model string `json:"model"`
		}
		if err := json.Unmarshal(before, &other); err != nil && len(bytes.TrimSpace(before)) > 0 {
			return nil, &FieldError{File: path, Reason: "a line that is no record: " + err.Error()}
		}
		if other.Model == model {
			if !placed {
				out = append(out, line...)
			}
			placed = true
			continue
		}
		out = append(out, before...)
	}
	if !placed {
		out = append(out, line...)
	}
	return out, nil
}

// readRecords reads a file with one Record a line. Errors are *FieldError with the line: text that is no record, an
// unknown key, a model twice, a value out of range. A last line that is cut off (no newline behind it, no whole record)
// is an error, too. The program that writes records drops it when it goes on.
func readRecords(path string, in io.Reader) (Models, error) {
	var models Models
	at := map[string]int{} // line of each model
	lines := textfile.NewReader(in)
	for line := 1; ; line++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("lines: %s: %w", path, err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			m, err := decodeRecord(text)
			if err != nil {
				return nil, &FieldError{File: path, Line: line, Reason: err.Error()}
			}
			if before, twice := at[m.Name]; twice {
				return nil, &FieldError{path, line, "model", fmt.Sprintf("%q stands twice, first in line %d", m.Name,
					before)}
			}
			at[m.Name] = line
			models = append(models, m)
		}
		if err != nil {
			break
		}
	}
	if len(models) == 0 {
		return nil, &FieldError{File: path, Reason: "no records"}
	}
	return models, nil
}

func decodeRecord(line []byte) (Model, error) {
	var r Record
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(&r)
	var kind *json.UnmarshalTypeError
	name, isUnknown := "", false
	if err != nil {
		name, isUnknown = strings.CutPrefix(err.Error(), "json: unknown field ")
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Model{}, errors.New("the record is cut off")
	case errors.As(err, &kind):
		return Model{}, fmt.Errorf("%s: %s, want %s", kind.Field, kind.Value, recordKeys[kind.Field])
	case isUnknown:
		return Model{}, fmt.Errorf("unknown key %s; did you mean %q?", name, nearest.Of(strings.Trim(name, `"`),
			slices.Sorted(maps.Keys(recordKeys))))
	case err != nil:
		return Model{}, err
	}
	if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
		return Model{}, fmt.Errorf("something stands behind the record: %.20q; want one record a line", rest)
	}
	m, err := r.model()
	if err == nil && m.Name == "" {
		err = errors.New("a model without a name")
	}
	return m, err
}

// recordKeys are the keys of a Record with what belongs there.
var recordKeys = map[string]string{
	"": "an object", "model": "text", "labels": "text by name", "percent": "numbers by name",
	"images": "whole numbers by name", "numbers": "numbers by name",
	"deviations": "numbers by name", "counts": "whole numbers by name", "settings": "values by name",
}
