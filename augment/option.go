package augment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/nearest"
)

// OptionError is an option, or the name of an augmentation, that is not known or out of its range.
type OptionError struct {
	Augmentation string // name; empty where the name itself is unknown
	What         string // e.g. `real_mode is "complex"`
	Expected     string
}

func (e *OptionError) Error() string {
	where := "augment: "
	if e.Augmentation != "" {
		where += e.Augmentation + ": "
	}
	return fmt.Sprintf("%s%s; expected %s", where, e.What, e.Expected)
}

// Option is one option of an augmentation as text.
type Option struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Usage string `json:"usage"` // what it is, and which values it may have
}

// field is an option of one value of an augmentation.
type field struct {
	key, usage string
	text       func() string
	parse      func(string) bool // false where the text is no value of the option
}

// configurable is built by the registry: a pointer to an augmentation whose fields can be set.
type configurable interface {
	fields() []field
	value() Augmentation
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// choice is an option that is one of a few words, the first of which is the default.
func choice(key, usage string, at *string, words ...string) field {
	return field{key, usage + ": " + strings.Join(words, ", "),
		func() string { return orDefault(*at, words[0]) },
		func(text string) bool {
			*at = text
			return slices.Contains(words, text)
		}}
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// known reports an error where a word is none of the words.
func known(name, key, v string, words ...string) error {
	if v == "" || slices.Contains(words, v) {
		return nil
	}
	return &OptionError{name, fmt.Sprintf("%s is %q", key, v), fmt.Sprintf("one of %q", words)}
}

// integer is an option with a whole number as its value; 0 is the default.
func integer(key, usage string, at *int, otherwise int) field {
	return field{key, fmt.Sprintf("%s (default %d)", usage, otherwise),
		func() string { return strconv.Itoa(orDefault(*at, otherwise)) },
		func(text string) bool {
			v, err := strconv.Atoi(text)
			*at = v
			return err == nil && v != 0
		}}
}

func truth(key, usage string, at *bool) field {
	return field{key, usage + ": false, true",
		func() string { return strconv.FormatBool(*at) },
		func(text string) (ok bool) {
			*at = text == "true"
			return *at || text == "false"
		}}
}

// named is a list of numbers with a name.
type named struct {
	name   string
	values []float64
}

// list is an option that is a list of numbers, or the name of one; the first of the named lists is the default.
func list(key, usage string, at *[]float64, lists ...named) field {
	for _, l := range lists {
		usage += fmt.Sprintf("; %s is %s", l.name, join(l.values, 4))
	}
	return field{key, usage,
		func() string {
			v := *at
			if v == nil {
				return lists[0].name
			}
			for _, l := range lists {
				if slices.Equal(l.values, v) {
					return l.name
				}
			}
			return join(v, -1)
		},
		func(text string) bool {
			for _, l := range lists {
				if l.name == text {
					*at = slices.Clone(l.values)
					return true
				}
			}
			var values []float64
			for part := range strings.SplitSeq(text, ":") {
				v, err := strconv.ParseFloat(part, 64)
				if err != nil {
					return false
				}
				values = append(values, v)
			}
			*at = values
			return true
		}}
}

func join(values []float64, digits int) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strconv.FormatFloat(v, 'g', digits, 64)
	}
	return strings.Join(parts, ":")
}

// inRange reports an error where the number of values is wrong or one is not in [low, high].
func inRange(name, key string, values []float64, count int, low, high float64) error {
	if len(values) == 0 || count > 0 && len(values) != count {
		expected := "at least one"
		if count > 0 {
			expected = strconv.Itoa(count)
		}
		return &OptionError{name, fmt.Sprintf("%s has %d values", key, len(values)), expected}
	}
	for _, v := range values {
		if !(v >= low && v <= high) {
			return &OptionError{name, fmt.Sprintf("%s has the value %v", key, v), fmt.Sprintf("%v to %v", number(low),
				number(high))}
		}
	}
	return nil
}

// describe is the name with the options that differ from those of the zero value.
func describe(name string, fields, defaults []field) string {
	var parts []string
	for i, f := range fields {
		if text := f.text(); text != defaults[i].text() {
			parts = append(parts, f.key+"="+text)
		}
	}
	if len(parts) == 0 {
		return name
	}
	return name + "(" + strings.Join(parts, ",") + ")"
}

// set sets an option of an augmentation from text.
func set(name string, fields []field, key, text string) error {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
		if f.key != key {
			continue
		}
		if !f.parse(text) {
			return &OptionError{name, fmt.Sprintf("%s is %q", key, text), f.usage}
		}
		return nil
	}
	if len(keys) == 0 {
		return &OptionError{name, fmt.Sprintf("option %q", key), "none: it has no options"}
	}
	return &OptionError{name, fmt.Sprintf("unknown option %q", key),
		fmt.Sprintf("%q (the nearest); there are %s", nearest.Of(key, keys), strings.Join(keys, ", "))}
}

// decimal is an option with a number as its value; 0 is the default.
func decimal(key, usage string, at *float64, otherwise float64) field {
	return field{key, fmt.Sprintf("%s (default %s)", usage, number(otherwise)),
		func() string { return number(orDefault(*at, otherwise)) },
		func(text string) bool {
			v, err := strconv.ParseFloat(text, 64)
			*at = v
			return err == nil && v != 0
		}}
}
