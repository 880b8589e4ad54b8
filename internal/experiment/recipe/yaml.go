package recipe

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/nearest"
)

// FileError is a fault of a file of recipes, tiers or tables.
type FileError struct {
	File string
	Line int // from 1; 0: the file as a whole
	What string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("experiment: %s: %s", e.File, e.What)
	}
	return fmt.Sprintf("experiment: %s: line %d: %s", e.File, e.Line, e.What)
}

// yamlFile decodes the nodes of one file, and refuses what the Go types do not have.
type yamlFile struct{ file string }

func (r yamlFile) errorf(n *yaml.Node, format string, args ...any) error {
	return &FileError{r.file, n.Line, fmt.Sprintf(format, args...)}
}

// document reads a file of one document, which must be a mapping; it is nil where the file is empty.
func (r yamlFile) document(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var n yaml.Node
	if err := decoder.Decode(&n); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &FileError{r.file, 0, "it is empty"}
		}
		return nil, &FileError{r.file, 0, strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	var more yaml.Node
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &FileError{r.file, 0, "it holds a second document; expected one"}
	}
	return n.Content[0], nil
}

// decode fills a value from a node, whose keys must all be known.
func (r yamlFile) decode(n *yaml.Node, to any) error {
	if err := r.check(n, reflect.TypeOf(to).Elem()); err != nil {
		return err
	}
	if err := n.Decode(to); err != nil {
		var wrong *yaml.TypeError
		if errors.As(err, &wrong) {
			return &FileError{r.file, 0, strings.Join(wrong.Errors, "; ")}
		}
		return r.errorf(n, "%v", err)
	}
	return nil
}

// check compares a node with a type: keys that it does not have, keys twice.
func (r yamlFile) check(n *yaml.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice {
		for _, one := range n.Content {
			if err := r.check(one, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	}
	if n.Kind != yaml.MappingNode {
		if t.Kind() == reflect.Struct {
			if _, ok := reflect.New(t).Interface().(yaml.Unmarshaler); !ok {
				return r.errorf(n, "expected keys and values")
			}
		}
		return nil
	}
	var fields []yamlField
	if t.Kind() == reflect.Struct {
		fields = yamlFields(t)
	}
	return r.pairs(n, func(key, value *yaml.Node) error {
		switch t.Kind() {
		case reflect.Map:
			return r.check(value, t.Elem())
		case reflect.Struct:
			var known []string
			for _, f := range fields {
				if f.key == key.Value {
					return r.check(value, f.Type)
				}
				known = append(known, f.key)
			}
			return r.errorf(key, "unknown key %q; the nearest is %q of %s", key.Value, nearest.Of(key.Value, known),
				strings.Join(known, ", "))
		}
		return nil
	})
}

// yamlField is a field of a struct with its key.
type yamlField struct {
	reflect.StructField
	key string
}

// yamlFields are the fields of a struct that have keys, and of the structs in it that stand inline.
func yamlFields(t reflect.Type) (all []yamlField) {
	if t == reflect.TypeFor[Measures]() {
		return askedFields()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case rest == "inline":
			all = append(all, yamlFields(f.Type)...)
		case name != "" && name != "-":
			all = append(all, yamlField{f, name})
		}
	}
	return all
}

// pairs visits a mapping, whose keys must differ.
func (r yamlFile) pairs(n *yaml.Node, visit func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "expected keys and values")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			return r.errorf(key, "the key %q is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := visit(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}
