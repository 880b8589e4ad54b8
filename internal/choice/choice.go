// Package choice holds values of an interface under their names, with their fields as options: what
// a recipe, a card or a command line chooses by name.
package choice

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/certspec/certspec/internal/nearest"
)

// Named is a value with a name: a struct of plain fields, whose JSON names are its options' names.
type Named interface{ Name() string }

// List prints names as "a, b, c".
func List[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// Registry holds the values of one kind.
type Registry[T Named] struct {
	Kind  string // in errors, as in "method"
	Check func(T) error

	mu      sync.RWMutex
	entries []entry[T]
}

type entry[T Named] struct {
	description string
	value       T
}

// Option is one option of a value as text.
type Option struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Usage string `json:"usage"`
}

// Entry describes a value.
type Entry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Options     []Option `json:"options"` // with their defaults
}

// Error is a name or an option that is not known, or a value that is none of the option's.
type Error struct {
	Kind     string
	Name     string // empty where the name itself is unknown
	What     string
	Expected string
}

func (e *Error) Error() string {
	where := e.Kind + ": "
	if e.Name != "" {
		where += e.Name + ": "
	}
	return fmt.Sprintf("%s%s; expected %s", where, e.What, e.Expected)
}

// Register adds a value, whose fields are the defaults of its options. It panics where the name is
// empty or that of a value of another type.
func (r *Registry[T]) Register(description string, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, e := range r.entries {
		if e.value.Name() == v.Name() && reflect.TypeOf(e.value) == reflect.TypeOf(v) {
			r.entries[i] = entry[T]{description, v}
			return
		}
		if v.Name() == "" || e.value.Name() == v.Name() {
			panic(fmt.Sprintf("%s: %q is the name of two", r.Kind, v.Name()))
		}
	}
	r.entries = append(r.entries, entry[T]{description, v})
}

// List describes all values.
func (r *Registry[T]) List() (list []Entry) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.entries {
		list = append(list, Entry{e.value.Name(), e.description, options(e.value)})
	}
	return list
}

// Names lists the names.
func (r *Registry[T]) Names() (names []string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.entries {
		names = append(names, e.value.Name())
	}
	return names
}

// New is the value of a name with options "key=value" in place of its defaults. Errors are *Error, or what Check says.
func (r *Registry[T]) New(name string, set ...string) (made T, err error) {
	names := r.Names()
	i := slices.Index(names, name)
	if i < 0 {
		return made, &Error{r.Kind, "", fmt.Sprintf("unknown %s %q", r.Kind, name),
			fmt.Sprintf("%q (the nearest); there are %s", nearest.Of(name, names), strings.Join(names, ", "))}
	}
	r.mu.RLock()
	value := r.entries[i].value
	r.mu.RUnlock()
	v := reflect.New(reflect.TypeOf(value)).Elem()
	v.Set(reflect.ValueOf(value))
	for _, text := range set {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return made, &Error{r.Kind, name, fmt.Sprintf("option %q", text), "key=value"}
		}
		if err := r.assign(name, v, strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return made, err
		}
	}
	made = v.Interface().(T)
	if r.Check != nil {
		err = r.Check(made)
	}
	return made, err
}

// With is New with options as a card or a recipe has them.
func (r *Registry[T]) With(name string, options map[string]any) (T, error) {
	var set []string
	for key, v := range options {
		set = append(set, fmt.Sprintf("%s=%v", key, v))
	}
	slices.Sort(set)
	return r.New(name, set...)
}

// field is an option of a type: a field with a JSON name, those of embedded structs included.
type field struct {
	key, usage string
	index      []int
}

var fieldsByType sync.Map // of a type: its []field

func fieldsOf(t reflect.Type) (list []field) {
	if list, ok := fieldsByType.Load(t); ok {
		return list.([]field)
	}
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			list = append(list, field{key, f.Tag.Get("usage"), f.Index})
		}
	}
	fieldsByType.Store(t, list)
	return list
}

func options(v any) []Option {
	list := []Option{}
	if of := reflect.ValueOf(v); of.Kind() == reflect.Struct {
		for _, f := range fieldsOf(of.Type()) {
			list = append(list, Option{f.key, fmt.Sprint(of.FieldByIndex(f.index).Interface()), f.usage})
		}
	}
	return list
}

func (r *Registry[T]) assign(name string, v reflect.Value, key, text string) error {
	var known []string
	err := error(&Error{r.Kind, name, "", ""})
	if v.Kind() == reflect.Struct {
		for _, f := range fieldsOf(v.Type()) {
			known = append(known, f.key)
			if f.key != key {
				continue
			}
			err = nil
			if of := v.FieldByIndex(f.index); !parse(of, text) {
				err = &Error{r.Kind, name, fmt.Sprintf("%s is %q", key, text), fmt.Sprintf("%s (a %s)", f.usage,
					kinds[of.Kind()])}
			}
		}
	}
	if unknown, ok := err.(*Error); ok && unknown.What == "" {
		unknown.What = fmt.Sprintf("unknown option %q", key)
		unknown.Expected = "no option: it has none"
		if len(known) > 0 {
			unknown.Expected = fmt.Sprintf("%q (the nearest); there are %s", nearest.Of(key, known),
				strings.Join(known, ", "))
		}
	}
	return err
}

var kinds = map[reflect.Kind]string{reflect.Int: "whole number", reflect.Float64: "number",
	reflect.Bool: "truth value, true or false", reflect.String: "word"}

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
	case reflect.String:
		v.SetString(text)
		return true
	}
	return false
}

// Options are the fields of a value as they stand on a card.
func Options(kind string, v Named) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s %s: its options cannot be written: %w", kind, v.Name(), err)
	}
	var list map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s %s: a %s must be a struct of plain fields: %w", kind, v.Name(), kind, err)
	}
	return list, nil
}
