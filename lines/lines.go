// Package lines asks whether models lie on a line: accuracy under a distribution shift against accuracy without it,
// both in probit units. It also says how far a model is above the line of a baseline (effective robustness).
//
// Sources: Fridovich-Keil et al. 2022, "Models out of line" (the tables, the eight predictors); Taori et al. 2020
// (effective robustness); Miller et al. 2021 (the probit line); Baek et al. 2022 (agreement on the line).
//
// A Model is a name, labels that form groups, accuracies and other numbers. Read makes Models of
// files; Fit fits lines, Tabulate makes the paper's tables. The package knows neither classifiers
// nor ledgers: accuracies come as numbers, or, of Points, per image.
package lines

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Accuracy is the share of a set's images that are classified correctly.
type Accuracy struct {
	Share float64 // in [0, 1]
	N     int     // images; 0: unknown
}

// Count is the accuracy of k correct answers on n images.
func Count(k, n int) (Accuracy, error) {
	if n < 1 || k < 0 || k > n {
		return Accuracy{}, fmt.Errorf("lines: %d correct of %d images, want 0 to n of at least 1", k, n)
	}
	return Accuracy{Share: float64(k) / float64(n), N: n}, nil
}

// Correct is the number of correct answers, Share·N rounded; it is 0 where N is unknown.
func (a Accuracy) Correct() int { return int(math.Round(a.Share * float64(a.N))) }

func (a Accuracy) check() error {
	switch {
	case !(a.Share >= 0 && a.Share <= 1):
		return fmt.Errorf("accuracy %v, want a share between 0 and 1", a.Share)
	case a.N < 0:
		return fmt.Errorf("%d images, want none (unknown) or more", a.N)
	}
	return nil
}

// Model is one model with all that is known about it. A field is the name of an accuracy or of another number;
// no name is both.
type Model struct {
	Name       string
	Labels     map[string]string   // what groups are made of, e.g. "architecture" → "VGG16"
	Accuracies map[string]Accuracy // on the set without shift, and on shifted sets
	Numbers    map[string]float64  // everything else that may predict an accuracy, in its own unit
}

// Models are models, each name once.
type Models []Model

// Check refuses a name that stands twice, and a value that is not finite or not a share.
func (ms Models) Check() error {
	seen := make(map[string]bool, len(ms))
	for _, m := range ms {
		if m.Name == "" {
			return fmt.Errorf("lines: a model without a name")
		}
		if seen[m.Name] {
			return fmt.Errorf("lines: model %q stands twice", m.Name)
		}
		seen[m.Name] = true
		if err := m.check(); err != nil {
			return fmt.Errorf("lines: model %q: %w", m.Name, err)
		}
	}
	return nil
}

func (m Model) check() error {
	for field, a := range m.Accuracies {
		if err := a.check(); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if _, both := m.Numbers[field]; both {
			return fmt.Errorf("%s is an accuracy and another number", field)
		}
	}
	for field, v := range m.Numbers {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v, want a finite number", field, v)
		}
	}
	return nil
}

// Fields are the names of all accuracies and numbers, sorted.
func (ms Models) Fields() []string {
	set := map[string]bool{}
	for _, m := range ms {
		for f := range m.Accuracies {
			set[f] = true
		}
		for f := range m.Numbers {
			set[f] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Where are the models with that label's value.
func (ms Models) Where(label, value string) Models {
	return slices.DeleteFunc(slices.Clone(ms), func(m Model) bool { return m.Labels[label] != value })
}

// Without are the models but those with these names. A name that no model has is an error that tells the nearest one.
func (ms Models) Without(names ...string) (Models, error) {
	for _, name := range names {
		if !slices.ContainsFunc(ms, func(m Model) bool { return m.Name == name }) {
			return nil, unknown("model", name, ms.names())
		}
	}
	return slices.DeleteFunc(slices.Clone(ms), func(m Model) bool { return slices.Contains(names, m.Name) }), nil
}

// Values are the different values of a label, sorted; "" stands for models without it.
func (ms Models) Values(label string) []string {
	set := map[string]bool{}
	for _, m := range ms {
		set[m.Labels[label]] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func (ms Models) names() []string {
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = m.Name
	}
	return names
}

// labels are the names of all labels, sorted.
func (ms Models) labels() []string {
	set := map[string]bool{}
	for _, m := range ms {
		for l := range m.Labels {
			set[l] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// needField refuses a name that no model has, with the nearest that there is.
func (ms Models) needField(field string) error {
	for _, m := range ms {
		if _, ok := m.Accuracies[field]; ok {
			return nil
		}
		if _, ok := m.Numbers[field]; ok {
			return nil
		}
	}
	return unknown("field", field, ms.Fields())
}

func (ms Models) needLabel(label string) error {
	labels := ms.labels()
	if slices.Contains(labels, label) {
		return nil
	}
	return unknown("label", label, labels)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + fmt.Sprintf(" and %d more", len(names)-12)
	}
	return strings.Join(names, ", ")
}
