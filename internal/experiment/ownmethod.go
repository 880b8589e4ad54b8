package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/certspec/certspec/gomlxmodels/method"
)

// withOptions is a copy of a method of a user's with some of its fields set, by their JSON names.
func withOptions(m method.Method, options map[string]any) (method.Method, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	if reflect.TypeOf(m).Kind() != reflect.Struct {
		return nil, fmt.Errorf("method %s is a %T; expected a struct of plain fields", m.Name(), m)
	}
	copied := reflect.New(reflect.TypeOf(m))
	copied.Elem().Set(reflect.ValueOf(m))
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(copied.Interface()); err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	made := copied.Elem().Interface().(method.Method)
	return made, method.Check(made)
}
