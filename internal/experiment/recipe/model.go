package recipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/study/measure"
)

// Model is one network of an experiment: a recipe at a tier with a seed, all numbers filled in, or a finished file.
type Model struct {
	Name  string `json:"name"` // RECIPE@SEED, RECIPE#POINT@SEED of a grid; of a finished network its title
	Title string `json:"title"`
	Group string `json:"group"`
	Data  string `json:"data"` // kind of data
	Train string `json:"train,omitempty"`
	Test  string `json:"test"`            // whose images are certified
	Check string `json:"check,omitempty"` // the part of it for the accuracies on the card

	More map[string]ExtraSet `json:"more,omitempty"` // further images of the method

	File string         `json:"file,omitempty"` // of a finished network
	ONNX map[string]any `json:"onnx,omitempty"`

	Results string `json:"results,omitempty"` // of a row whose radii are there: a ledger or a file of radii

	// How it was trained; in JSON by the keys of recipes, beside the others.
	modelfile.Recipe `json:"-"`

	Start string         `json:"start,omitempty"` // name of the model that training or adaptation begins with
	Begin *Begin         `json:"begin,omitempty"` // what training begins with, where that is no model of the experiment
	Soft  string         `json:"soft,omitempty"`  // ledger whose votes are the soft labels, of a method that takes some
	Adapt *adaptSettings `json:"adapt,omitempty"`
}

// Slug is the name as files bear it.
func (m Model) Slug() string {
	return strings.NewReplacer("/", "-", "#", "-g", "@", "-s", " ", "-", ":", "-", "\\", "-").Replace(m.Name)
}

// Measured is the model as measures see it.
func (m *Model) Measured() *measure.Model {
	return &measure.Model{Name: m.Name, Title: m.Title, Data: m.Data, Test: m.Test, Check: m.Check, Slug: m.Slug(),
		File: m.File, Results: m.Results, Sigma: m.Noise(), Adapted: m.Adapt != nil, Labels: m.Labels()}
}

// Step is what a step of a training takes of each image, as the model's method says.
type Step struct {
	Rows    int // that go through the network and back: those of views, noises, attacks and second passes
	Further int // those of further sets, with their attacks and bounds, which are two passes
	// What the images of the step are attacked within, where they are.
	Norm    attack.Norm
	Epsilon *float64
}

// StepOf is the step of a model whose method's options stay within the limits of a tier. Package
// settings sets it, which links the methods of training; a cell asks the process of its kernel.
var StepOf = func(t Tier, m *Model) (Step, error) {
	return Step{}, fmt.Errorf("experiment: %s: this program has no method of training", m.Name)
}

// BySGD reports whether the optimizer is the default.
func (m Model) BySGD() bool { return m.Optimizer == "" || m.Optimizer == "sgd" }

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
	if m.File == "" && m.Results == "" && m.BySGD() {
		for _, v := range []**float64{&m.Momentum, &m.WeightDecay} {
			if *v == nil {
				*v = new(0.0)
			}
		}
	}
	return nil
}
