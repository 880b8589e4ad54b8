package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// plainModel is a Model without its methods.
type plainModel Model

// recipeKeys are the fields of a recipe as a manifest has them: by their keys in recipe files, and the seed.
var recipeKeys = func() map[string]reflect.StructField {
	keys := map[string]reflect.StructField{}
	for _, f := range yamlFields(reflect.TypeFor[modelfile.Recipe]()) {
		keys[f.key] = f.StructField
	}
	keys["seed"], _ = reflect.TypeFor[modelfile.Recipe]().FieldByName("Seed")
	return keys
}()

// always are written also where they are zero.
func always(key string) bool { return key == "seed" || key == "sigma" }

// MarshalJSON writes the recipe's settings beside the others.
func (m Model) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(plainModel(m))
	if err != nil {
		return nil, err
	}
	var all map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		return nil, err
	}
	recipe := reflect.ValueOf(m.Recipe)
	for key, field := range recipeKeys {
		if v := recipe.FieldByIndex(field.Index); always(key) || !v.IsZero() && !(v.Kind() == reflect.Map &&
			v.Len() == 0) {
			all[key] = v.Interface()
		}
	}
	if m.Sigma == nil {
		all["sigma"] = 0
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON writes, and manifests from before, in which a momentum and a
// weight decay of 0 are left out.
func (m *Model) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	var recipe modelfile.Recipe
	for key, field := range recipeKeys {
		if value, ok := all[key]; ok {
			if err := json.Unmarshal(value,
				reflect.ValueOf(&recipe).Elem().FieldByIndex(field.Index).Addr().Interface()); err != nil {
				return fmt.Errorf("%s: %s", key, strings.TrimPrefix(err.Error(), "json: "))
			}
			delete(all, key)
		}
	}
	rest, err := json.Marshal(all)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(rest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plainModel)(m)); err != nil {
		return err
	}
	m.Recipe = recipe
	if m.File == "" && m.Results == "" && m.sgd() {
		for _, v := range []**float64{&m.Momentum, &m.WeightDecay} {
			if *v == nil {
				*v = new(0.0)
			}
		}
	}
	return nil
}
