package method

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/nearest"
)

// entry is a method that New knows, with its defaults.
type entry struct {
	description string
	method      Method
}

// Defaults of the options are those of the works named, at σ = 0.25 on CIFAR-10.
var registry = []entry{
	{"cross-entropy of one noisy view (Cohen et al. 2019)", Gaussian{Share: All}},
	{"consistency of the predictions under several noises (Jeong and Shin 2020)", Consistency{Noises: 2, Lambda: 20, Eta: 0.5}},
	{"Jensen-Shannon divergence of an image and its augmented views (Hendrycks et al. 2019)", JSD{Views: 3, Weight: 12, Share: HalfExact}},
	{"hierarchical consistency over augmented views and noises (Sun et al. 2021)", HCR{Views: 3, Noises: 2, Lambda: 40, Eta: 10}},
	{"attacks on the smoothed classifier (Salman et al. 2019)", SmoothAdv{smoothAdv}},
	{"the certified radius in the loss (Zhai et al. 2020)", MACER{Noises: 16, Lambda: 12, Gamma: 8, Beta: 16}},
	{"attacks on the Brier score (Emde et al. 2025)", BrierACT{act}},
	{"attacks on the relaxed certified calibration error (Emde et al. 2025)", ACCEACT{act, relaxed}},
	{"the same, with the calibration error in the loss", ACCEACTStar{act, relaxed, 1e-3}},
	{"attacks on the certified calibration error, solved exactly", ExactACT{Attack: act}},
}

var (
	smoothAdv = Attack{Noises: 8, Epsilon: 255. / 256, Steps: 2, Rate: 1, WarmUp: 10}
	act       = Attack{Noises: 8, Epsilon: 255. / 256, Steps: 2, Rate: 1, WarmUp: 3}
	relaxed   = Relaxed{Growth: 1.5, Rho: 0.01, StepA: 0.01}
)

// Default is the name of the method that New takes for an empty name.
const Default = "gaussian"

// Option is one option of a method as text.
type Option struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Usage string `json:"usage"`
}

// Entry describes a method.
type Entry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Options     []Option `json:"options"` // with their defaults
}

// List describes all methods that New knows.
func List() []Entry {
	var list []Entry
	for _, e := range registry {
		list = append(list, Entry{e.method.Name(), e.description, options(e.method)})
	}
	return list
}

// Names lists the methods that New knows.
func Names() []string {
	var names []string
	for _, e := range registry {
		names = append(names, e.method.Name())
	}
	return names
}

// OptionError is a method or an option that is not known, or a value that is none of the option's.
type OptionError struct {
	Method   string // empty where the name itself is unknown
	What     string
	Expected string
}

func (e *OptionError) Error() string {
	where := "method: "
	if e.Method != "" {
		where += e.Method + ": "
	}
	return fmt.Sprintf("%s%s; expected %s", where, e.What, e.Expected)
}

// New is the method of a name with options "key=value" in place of its defaults.
func New(name string, set ...string) (Method, error) {
	if name == "" {
		name = Default
	}
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, &OptionError{"", fmt.Sprintf("unknown method %q", name),
			fmt.Sprintf("%q (the nearest); there are %s", nearest.Of(name, Names()), strings.Join(Names(), ", "))}
	}
	m := reflect.New(reflect.TypeOf(registry[i].method)).Elem()
	m.Set(reflect.ValueOf(registry[i].method))
	for _, text := range set {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return nil, &OptionError{name, fmt.Sprintf("option %q", text), "key=value"}
		}
		if err := assign(name, m, strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	made := m.Interface().(Method)
	return made, Check(made)
}

// fields are the options of a method: its fields with a JSON name, those of embedded structs included.
func fields(m reflect.Value, see func(key, usage string, v reflect.Value)) {
	for i := range m.NumField() {
		f := m.Type().Field(i)
		if f.Anonymous {
			fields(m.Field(i), see)
			continue
		}
		see(f.Tag.Get("json"), f.Tag.Get("usage"), m.Field(i))
	}
}

func options(m Method) []Option {
	list := []Option{}
	fields(reflect.ValueOf(m), func(key, usage string, v reflect.Value) {
		list = append(list, Option{key, fmt.Sprint(v.Interface()), usage})
	})
	return list
}

func assign(name string, m reflect.Value, key, text string) error {
	var known []string
	err := error(&OptionError{name, "", ""})
	fields(m, func(k, usage string, v reflect.Value) {
		known = append(known, k)
		if k != key {
			return
		}
		err = nil
		if !parse(v, text) {
			err = &OptionError{name, fmt.Sprintf("%s is %q", key, text), fmt.Sprintf("%s (a %s)", usage, kinds[v.Kind()])}
		}
	})
	if unknown, ok := err.(*OptionError); ok && unknown.What == "" {
		unknown.What = fmt.Sprintf("unknown option %q", key)
		unknown.Expected = fmt.Sprintf("%q (the nearest); there are %s", nearest.Of(key, known), strings.Join(known, ", "))
	}
	return err
}

var kinds = map[reflect.Kind]string{reflect.Int: "whole number", reflect.Float64: "number", reflect.Bool: "truth value, true or false", reflect.String: "word"}

func parse(v reflect.Value, text string) bool {
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		v.SetInt(int64(n))
		return err == nil
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		v.SetFloat(x)
		return err == nil
	case reflect.Bool:
		v.SetBool(text == "true")
		return text == "true" || text == "false"
	}
	v.SetString(text)
	return v.Kind() == reflect.String
}

// Options are the fields of a method as they stand on a card.
func Options(m Method) (map[string]any, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("method %s: its options cannot be written: %w", m.Name(), err)
	}
	var list map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("method %s: a method must be a struct of plain fields: %w", m.Name(), err)
	}
	return list, nil
}
