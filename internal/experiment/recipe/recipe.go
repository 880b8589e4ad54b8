// Package recipe reads recipes, tiers and tables from YAML, and has what package plan makes of them, models: all
// settings of a network, at a tier and with a seed.
package recipe

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// Recipe says how a network is trained, at full size. What it leaves out it has from the recipe
// that From names, but for Title, Group and Abstract; options are joined key by key as long as the
// method is the same.
type Recipe struct {
	Name     string `yaml:"-"`
	From     string `yaml:"from,omitempty"`
	Abstract bool   `yaml:"abstract,omitempty"` // only to inherit from
	Title    string `yaml:"title,omitempty"`    // in tables
	Group    string `yaml:"group,omitempty"`    // of models that are compared as one method; default Title

	Data string `yaml:"data,omitempty"` // name of a Data
	// further images of the method, by the names that it has for them
	More map[string]ExtraSet `yaml:"sets,omitempty"`

	// How it is trained. Of a recipe with Start, σ and the method's noises and epsilon come from
	// the start unless they stand here.
	modelfile.Recipe `yaml:",inline"`

	Seeds []uint64 `yaml:"seeds,omitempty"` // default 1
	Start string   `yaml:"start,omitempty"` // recipe whose network training, or adaptation, begins with
	// so many times fewer epochs than a tier has for it; milestones and ramps shrink with them
	Shorter float64 `yaml:"shorter,omitempty"`

	Adapt *adaptSettings `yaml:"adapt,omitempty"` // no training: the network of Start is adapted to each corruption

	// Grid makes one model for each combination of some values: of rate, or of options.KEY; Draws of them, drawn
	// with a fixed seed, where there are more. The models are named RECIPE#1, RECIPE#2, ….
	Grid  map[string][]float64 `yaml:"grid,omitempty"`
	Draws int                  `yaml:"draws,omitempty"`
}

// adaptSettings are the settings of test-time adaptation; see package adapt.
type adaptSettings struct {
	Method   string  `yaml:"method" json:"method"` // bn or tent
	Images   int     `yaml:"images,omitempty" json:"images,omitempty"`
	Steps    int     `yaml:"steps,omitempty" json:"steps,omitempty"`
	Batch    int     `yaml:"batch,omitempty" json:"batch,omitempty"`
	Rate     float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	Momentum float64 `yaml:"momentum,omitempty" json:"momentum,omitempty"`
	// Sample is how the images are chosen: random, without regard to labels. Folders from before
	// have class-balanced ones, and none of this.
	Sample string `yaml:"-" json:"sample,omitempty"`
}

// RandomSample is how images are chosen, but in folders from before.
const RandomSample = "random"

// own are the keys that a recipe does not inherit.
var own = []string{"from", "abstract", "title", "group"}

// inherit is the body of a recipe with what its parent has.
func inherit(parent, child *yaml.Node) *yaml.Node {
	merged := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: child.Line, Column: child.Column}
	value := func(of *yaml.Node, key string) *yaml.Node {
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == key {
				return of.Content[i+1]
			}
		}
		return nil
	}
	method := value(child, "method")
	sameMethod := method == nil || value(parent, "method") != nil && value(parent, "method").Value == method.Value
	for i := 0; i+1 < len(parent.Content); i += 2 {
		key, v := parent.Content[i], parent.Content[i+1]
		mine := value(child, key.Value)
		switch {
		case slices.Contains(own, key.Value), key.Value == "options" && !sameMethod:
			continue
		case key.Value == "options" && mine != nil && mine.Kind == yaml.MappingNode:
			v = inherit(v, mine)
		case mine != nil:
			continue
		}
		merged.Content = append(merged.Content, key, v)
	}
	for i := 0; i+1 < len(child.Content); i += 2 {
		key := child.Content[i]
		if value(merged, key.Value) == nil {
			merged.Content = append(merged.Content, key, child.Content[i+1])
		}
	}
	return merged
}
