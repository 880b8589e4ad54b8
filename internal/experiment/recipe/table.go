package recipe

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/study"
)

// Table says which models stand side by side, and what is measured of them.
type Table struct {
	Name    string   `yaml:"-" json:"name"`
	Title   string   `yaml:"title" json:"title"`
	Source  string   `yaml:"source,omitempty" json:"source,omitempty"` // where the published one stands
	Rows    []Row    `yaml:"rows" json:"rows"`
	Measure Measures `yaml:"measure" json:"measure"`
	// Printed are the numbers of the paper's table, by the titles of rows (of calibration errors by
	// group, of foreign images by recipe).
	Printed *study.Printed `yaml:"printed,omitempty" json:"-"`
	// Families are claims by the name of the family that they are judged with.
	Families map[string]study.Family `yaml:"families,omitempty" json:"-"`
	// Published are figures by row and the name that certspec experiment table has for them: those of
	// Printed, or of a file of one's own.
	Published Published `yaml:"published,omitempty" json:"-"`

	// title of the row that intervals of differences refer to; default the first
	Compare string `yaml:"compare,omitempty" json:"compare,omitempty"`
}

// Row is a recipe, or a network that is finished: a model file of certspec's or an ONNX file.
type Row struct {
	Recipe string `yaml:"recipe,omitempty" json:"recipe,omitempty"`
	// default the recipe's; at most the tier's number
	Seeds []uint64 `yaml:"seeds,omitempty" json:"seeds,omitempty"`
	Model string   `yaml:"model,omitempty" json:"model,omitempty"` // path, in a file of rows relative to it
	// path of certified radii that are there: a closed ledger or a published log, of clean images, or a
	// CSV as in results/; or FILE#MODEL, a line of a file of records or of a CSV of accuracies; relative as
	// Model
	Results string `yaml:"results,omitempty" json:"results,omitempty"`
	// how images enter an ONNX file: the fields of onnx.Card
	ONNX map[string]any `yaml:"onnx,omitempty" json:"onnx,omitempty"`
	// of Model; default the first row's with a recipe
	Data string `yaml:"data,omitempty" json:"data,omitempty"`
	// of Model or of a published log; default the first row's with a recipe
	Sigma float64 `yaml:"sigma,omitempty" json:"sigma,omitempty"`
	Title string  `yaml:"title,omitempty" json:"title,omitempty"` // default the recipe's
}

// UnmarshalYAML takes the name of a recipe alone, too.
func (r *Row) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		r.Recipe = n.Value
		return nil
	}
	type plain Row
	return n.Decode((*plain)(r))
}

// said is how many of recipe, model and results there are.
func (r Row) said() (n int) {
	for _, s := range []string{r.Recipe, r.Model, r.Results} {
		if s != "" {
			n++
		}
	}
	return n
}

func (r Row) check() error {
	switch {
	case r.said() != 1:
		return fmt.Errorf("a row has a recipe, a model or results, one of them")
	case r.Recipe != "" && (r.ONNX != nil || r.Data != "" || r.Sigma != 0):
		return fmt.Errorf("row %s: onnx, data and sigma are for a model; a recipe says them itself", r.Recipe)
	case len(slices.Compact(slices.Sorted(slices.Values(r.Seeds)))) < len(r.Seeds):
		return fmt.Errorf("row %s: seeds %v; expected each once, as one network would count as two", r.Recipe, r.Seeds)
	case r.Recipe == "" && len(r.Seeds) > 0:
		return fmt.Errorf("row %s: seeds are for a recipe", r.Title)
	case r.Recipe == "" && r.Title == "":
		return fmt.Errorf("row of %s has no title", r.Model+r.Results)
	case r.Results != "" && r.ONNX != nil:
		return fmt.Errorf("row %s: onnx is for a model; results have been made", r.Title)
	case !(r.Sigma >= 0):
		return fmt.Errorf("row %s: sigma is %v; expected more than 0", r.Title, r.Sigma)
	}
	return nil
}

// Line is a row of a table, or a point of its grid, with one model for each seed.
type Line struct {
	Title  string   `json:"title"`
	Group  string   `json:"group"`
	Models []string `json:"models"`
}
