package lines

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/textfile"
)

// robustNetsImages is the number of images behind each accuracy of the RobustNets file: the whole
// test set, CIFAR-10.1 v6, and five severities pooled for a corruption, or all fifteen of them.
var robustNetsImages = func() map[string]int {
	n := map[string]int{"cifar10_acc": 10_000, "cifar10.1_acc": 2_000, "cifar10c_acc": 750_000}
	for _, shift := range slices.Concat(mainShifts, otherShifts) {
		if _, ok := n[shift]; !ok {
			n[shift] = 50_000
		}
	}
	return n
}()

// FieldError says which line and field of a file is wrong.
type FieldError struct {
	File   string
	Line   int    // from 1; 0 where the file has none
	Field  string // "" where it is not one field
	Reason string
}

func (e *FieldError) Error() string {
	where := e.File
	if e.Line > 0 {
		where += fmt.Sprintf(": line %d", e.Line)
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return "lines: " + where + ": " + e.Reason
}

// readRobustNets reads the result file of RobustNets (Fridovich-Keil et al. 2022), one JSON object. Its keys are
// {architecture}_{augmentation}_{method}_{layout}_{sparsity}. Its values hold 25 numbers, accuracies in percent. The
// keys become the labels architecture, augmentation, method, layout and sparsity. Dense models, filed under lrr with
// sparsity 0.0, get the method "dense".
//
// Errors are *FieldError: a key that is not of this form or stands twice, a field that is unknown (with the nearest
// one) or missing, a percentage outside 0 to 100.
func readRobustNets(path string, in io.Reader) (Models, error) {
	bad := func(field, format string, args ...any) error {
		return &FieldError{File: path, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	dec := json.NewDecoder(textfile.NewReader(in))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, bad("", "not a JSON object of models")
	}
	var models Models
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, bad("", "%v", err)
		}
		name := t.(string)
		if seen[name] {
			return nil, bad(name, "stands twice")
		}
		seen[name] = true
		labels, err := robustNetsLabels(name)
		if err != nil {
			return nil, bad(name, "%v", err)
		}
		m := Model{Name: name, Labels: labels, Accuracies: map[string]Accuracy{}, Numbers: map[string]float64{}}
		if err := readNumbers(dec, &m); err != nil {
			return nil, bad(name, "%v", err)
		}
		models = append(models, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, bad("", "the file is cut off: %v", err)
	}
	if len(models) == 0 {
		return nil, bad("", "no models")
	}
	return models, nil
}

func robustNetsLabels(key string) (map[string]string, error) {
	parts := strings.Split(key, "_")
	if len(parts) != 5 {
		return nil, errors.New("not of the form architecture_augmentation_method_layout_sparsity")
	}
	labels := map[string]string{"architecture": parts[0], "augmentation": parts[1], "method": parts[2],
		"layout": parts[3], "sparsity": parts[4]}
	if parts[4] == "0.0" {
		labels["method"] = "dense"
	}
	return labels, nil
}

// readNumbers reads one model's object of numbers.
func readNumbers(dec *json.Decoder, m *Model) error {
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("not an object of numbers")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		field := key.(string)
		value, err := dec.Token()
		if err != nil {
			return err
		}
		v, ok := value.(float64)
		if !ok {
			return fmt.Errorf("%s is %v, want a number", field, value)
		}
		if err := m.set(field, v); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	for field := range robustNetsImages {
		if _, ok := m.Accuracies[field]; !ok {
			return fmt.Errorf("%s is missing", field)
		}
	}
	for _, p := range Predictors[1:] {
		if _, ok := m.Numbers[p.Field]; !ok {
			return fmt.Errorf("%s is missing", p.Field)
		}
	}
	return nil
}

// set takes a field in RobustNets' names and units.
func (m *Model) set(field string, v float64) error {
	if _, twice := m.Accuracies[field]; twice {
		return fmt.Errorf("%s stands twice", field)
	}
	if _, twice := m.Numbers[field]; twice {
		return fmt.Errorf("%s stands twice", field)
	}
	if n, ok := robustNetsImages[field]; ok {
		a, err := percent(v, n)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		m.Accuracies[field] = a
		return nil
	}
	if slices.ContainsFunc(Predictors, func(p Predictor) bool { return p.Field == field }) {
		m.Numbers[field] = v
		return nil
	}
	known := slices.Sorted(maps.Keys(robustNetsImages))
	for _, p := range Predictors[1:] {
		known = append(known, p.Field)
	}
	return unknown("field", field, known)
}

// percent is an accuracy of v percent.
func percent(v float64, n int) (Accuracy, error) {
	if !(v >= 0 && v <= 100) {
		return Accuracy{}, fmt.Errorf("%v, want a percentage between 0 and 100", v)
	}
	return Accuracy{Share: v / 100, N: n}, nil
}
