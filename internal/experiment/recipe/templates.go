package recipe

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// eachKey makes several recipes of one: its value lists for some words what stands for $WORD in the
// name and the body, and a recipe is made for each combination. An item may be a mapping, whose
// keys are then words, too, that go together. Names that match the pattern of an except are left
// out.
const (
	eachKey   = "each"
	exceptKey = "except"
)

// expand gives the recipes that a name and a body stand for: one, or those of its each.
func (r yamlFile) expand(name, body *yaml.Node, add func(name, body *yaml.Node) error) error {
	var of *yaml.Node
	except, rest := "", *body
	rest.Content = nil
	for i := 0; i+1 < len(body.Content) && body.Kind == yaml.MappingNode; i += 2 {
		switch key, value := body.Content[i], body.Content[i+1]; key.Value {
		case eachKey:
			of = value
		case exceptKey:
			except = value.Value
		default:
			rest.Content = append(rest.Content, key, value)
		}
	}
	if of == nil {
		return add(name, body)
	}
	combinations := []map[string]string{{}}
	err := r.pairs(of, func(word, list *yaml.Node) error {
		if list.Kind == yaml.AliasNode {
			list = list.Alias
		}
		if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
			return r.errorf(list, "%s of %s is no list", word.Value, eachKey)
		}
		var next []map[string]string
		for _, before := range combinations {
			for _, item := range list.Content {
				now := map[string]string{}
				for k, v := range before {
					now[k] = v
				}
				switch item.Kind {
				case yaml.ScalarNode:
					now[word.Value] = item.Value
				case yaml.MappingNode:
					if err := r.pairs(item, func(k, v *yaml.Node) error {
						now[k.Value] = v.Value
						return nil
					}); err != nil {
						return err
					}
				}
				next = append(next, now)
			}
		}
		combinations = next
		return nil
	})
	if err != nil {
		return err
	}
	left := false
	for _, words := range combinations {
		if Matches(except, filled(name, words).Value) {
			left = true
			continue
		}
		if err := add(filled(name, words), filled(&rest, words)); err != nil {
			return err
		}
	}
	if except != "" && !left {
		return r.errorf(name, "%s of %s: %v", exceptKey, name.Value, unmatched(except))
	}
	return nil
}

// filled is a node with words in the place of $WORD, longer ones first.
func filled(n *yaml.Node, words map[string]string) *yaml.Node {
	out := *n
	out.Content = nil
	for _, c := range n.Content {
		out.Content = append(out.Content, filled(c, words))
	}
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "$") {
		var names []string
		for word := range words {
			names = append(names, word)
		}
		slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
		for range 2 { // what a word stands for may have words, too
			for _, word := range names {
				out.Value = strings.ReplaceAll(out.Value, "$"+word, words[word])
			}
		}
		out.Tag = "" // of the new value
	}
	return &out
}

// matching are rows with those that a pattern such as C/*/clean/* stands for, in the order of the recipes.
func (l *Library) matching(rows []Row) (out []Row, err error) {
	for _, row := range rows {
		if !strings.Contains(row.Recipe, "*") {
			out = append(out, row)
			continue
		}
		before := len(out)
		for _, name := range l.Names(Recipes) {
			if Matches(row.Recipe, name) {
				out = append(out, Row{Recipe: name, Seeds: row.Seeds})
			}
		}
		if len(out) == before {
			return nil, unmatched(row.Recipe)
		}
	}
	return out, nil
}

// unmatched is the error of a pattern that stands for nothing.
func unmatched(pattern string) error {
	const how = "* stands for what lies between two /, as in D/c10/arms/*/*"
	return fmt.Errorf("experiment: the pattern %s matches no recipe; %s", pattern, how)
}

// Matches reports whether a name is the one that is wanted, or one that a pattern stands for.
func Matches(wanted, name string) bool {
	wanted = StoredName(wanted)
	ok, err := path.Match(wanted, name)
	return wanted == name || strings.Contains(wanted, "*") && ok && err == nil
}
