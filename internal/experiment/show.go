package experiment

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/nearest"
)

// Show is a table, a tier or a recipe of a name as YAML, with what it inherits.
func (l *Library) Show(name string) (string, error) {
	name = stored(name)
	for kind, of := range map[string]func() any{
		Tables: func() any { return l.tables[name] },
		Tiers:  func() any { return l.tiers[name] },
		Recipes: func() any {
			r := l.recipes[name]
			r.From = "" // it has what that said
			return r
		},
	} {
		for _, known := range l.order[kind] {
			if known != name {
				continue
			}
			var b bytes.Buffer
			e := yaml.NewEncoder(&b)
			e.SetIndent(2)
			if err := e.Encode(map[string]any{kind: map[string]any{Spelled(name): of()}}); err != nil {
				return "", fmt.Errorf("experiment: %s: %w", name, err)
			}
			return b.String(), nil
		}
	}
	var all []string
	for _, kind := range []string{Tables, Tiers, Recipes} {
		all = append(all, l.Names(kind)...)
	}
	return "", &UnknownError{"recipe, tier or table", name, Spelled(nearest.Of(name, all))}
}
