package recipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/study/measure"
)

// Measures of a table: the settings of each measure by its key, beside those of certified radii.
type Measures struct {
	Radii  Radius
	others map[string]measure.Measure
}

// All are all that a table asks for, in the order of their tables.
func (a Measures) All() []measure.Measure {
	all := []measure.Measure{measure.Radius{Radius: a.Radii}}
	for _, of := range measure.Declared()[1:] {
		if m := a.others[of.Name()]; m != nil {
			all = append(all, m)
		}
	}
	return all
}

// Calibration are the settings of certified calibration; nil where it is not asked for.
func (a Measures) Calibration() *measure.Calibration {
	m, _ := a.others["calibration"].(*measure.Calibration)
	return m
}

// At is the same at a tier and with the places of data, which some measures keep.
func (a Measures) At(s measure.Setting) (Measures, error) {
	for key, m := range a.others {
		placed, ok := m.(measure.Placed)
		if !ok {
			continue
		}
		now, err := placed.At(s)
		if err != nil {
			return a, err
		}
		a.others = maps.Clone(a.others)
		a.others[key] = now
	}
	return a, nil
}

// askedFields are the keys of a table's measures, with what stands under them.
func askedFields() []yamlField {
	all := yamlFields(reflect.TypeFor[Radius]())
	for _, m := range measure.Declared()[1:] {
		all = append(all, yamlField{reflect.StructField{Type: reflect.TypeOf(m).Elem()}, m.Name()})
	}
	return all
}

// take reads what stands under the keys of measures; those of certified radii are left to radii.
func (a *Measures) take(keys []string, decode func(key string, to any) error, radii func(to any) error) error {
	if err := radii(&a.Radii); err != nil {
		return err
	}
	for _, key := range keys {
		if slices.ContainsFunc(yamlFields(reflect.TypeFor[Radius]()),
			func(f yamlField) bool { return f.key == key }) {
			continue
		}
		known := measure.Declared()
		at := slices.IndexFunc(known, func(m measure.Measure) bool { return m.Name() == key })
		if at < 0 {
			return fmt.Errorf("there is no measure %q; a newer program may have it", key)
		}
		m := known[at]
		if err := decode(key, m); err != nil {
			return err
		}
		if v := reflect.ValueOf(m).Elem(); v.Kind() == reflect.Bool && !v.Bool() {
			continue // as if it were not there
		}
		if a.others == nil {
			a.others = map[string]measure.Measure{}
		}
		a.others[key] = m
	}
	return nil
}

func (a *Measures) UnmarshalYAML(n *yaml.Node) error {
	var of map[string]yaml.Node
	if err := n.Decode(&of); err != nil {
		return err
	}
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	return a.take(keys, func(key string, to any) error { v := of[key]; return v.Decode(to) }, n.Decode)
}

func (a Measures) MarshalYAML() (any, error) {
	n := &yaml.Node{}
	if err := n.Encode(a.Radii); err != nil {
		return nil, err
	}
	for _, m := range a.All()[1:] {
		value := &yaml.Node{}
		if err := value.Encode(m); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: m.Name()}, value)
	}
	return n, nil
}

func (a *Measures) UnmarshalJSON(text []byte) error {
	var of map[string]json.RawMessage
	if err := json.Unmarshal(text, &of); err != nil {
		return err
	}
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	strict := func(key string, to any) error {
		d := json.NewDecoder(bytes.NewReader(of[key]))
		d.DisallowUnknownFields()
		return d.Decode(to)
	}
	return a.take(keys, strict, func(to any) error { return json.Unmarshal(text, to) })
}

func (a Measures) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(a.Radii)
	if err != nil {
		return nil, err
	}
	for _, m := range a.All()[1:] {
		value, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		text = text[:len(text)-1]
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%q:%s}", m.Name(), value)
	}
	return text, nil
}
