package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"gonum.org/v1/gonum/stat/distuv"
)

// Printed are the numbers of a table in print, with the settings that they were found with.
type Printed struct {
	// From names other tables whose numbers and settings these are; then nothing else is given.
	From     []string `yaml:"from,omitempty"`
	Source   string   `yaml:"source,omitempty"` // paper and table
	Settings `yaml:",inline"`
	Values   []Matrix `yaml:"values,omitempty"`
}

// Settings are how numbers were found. A zero value: the paper does not say, or it differs by row.
type Settings struct {
	Data       string  `yaml:"data,omitempty"`       // kind of the own images, as cifar10
	Network    string  `yaml:"network,omitempty"`    // as resnet110
	Epochs     int     `yaml:"epochs,omitempty"`     // of training
	Images     int     `yaml:"images,omitempty"`     // of a set
	Sigma      float64 `yaml:"sigma,omitempty"`      // of the noise, of pixel values in [0, 1]
	N          int     `yaml:"n,omitempty"`          // noise samples for an image
	Alpha      float64 `yaml:"alpha,omitempty"`      // chance that a certificate is wrong
	Epsilon    float64 `yaml:"epsilon,omitempty"`    // ℓ∞ radius of balls around foreign images
	Severities []int   `yaml:"severities,omitempty"` // of corruptions
	Found      string  `yaml:"found,omitempty"`      // by search, where the quantity is a largest one
	Percent    bool    `yaml:"percent,omitempty"`    // values are in percent
	Decimals   int     `yaml:"decimals,omitempty"`   // in print
}

// Matrix has numbers of some quantities on some sets: a list for each row, with all quantities of the first set, then
// those of the next. A quantity of the own images alone stands before them. A number that is not printed is ~.
type Matrix struct {
	Settings `yaml:",inline"`      // where they are not those of the table
	Own      Words                 `yaml:"own,omitempty"`
	What     Words                 `yaml:"what"`
	On       Words                 `yaml:"on"`
	Rows     map[string][]*float64 `yaml:"rows"`
}

// Words is a list in YAML, or a word by itself.
type Words []string

// UnmarshalYAML reads either.
func (w *Words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*w = Words{n.Value}
		return nil
	}
	return n.Decode((*[]string)(w))
}

// PrintedNumber is one of them.
type PrintedNumber struct {
	Cell
	Value    float64 // as printed
	Settings Settings
	Source   string
}

// Numbers are all of them, in the order of their cells.
//
// Errors: a row with more or fewer numbers than its sets and quantities; a cell that is there twice.
func (p *Printed) Numbers() ([]PrintedNumber, error) {
	all := map[Cell]PrintedNumber{}
	for _, m := range p.Values {
		settings, cells := m.Settings.or(p.Settings), m.cells()
		for row, values := range m.Rows {
			if len(values) != len(cells) {
				return nil, fmt.Errorf("study: %s: row %s has %d numbers; expected %d, of %d quantities on %d sets",
					p.Source, row, len(values), len(cells), len(m.What), len(m.On))
			}
			for i, v := range values {
				if v == nil {
					continue
				}
				c := cells[i]
				c.Row = row
				if _, ok := all[c]; ok {
					return nil, fmt.Errorf("study: %s: %s of %s on %s is there twice", p.Source, c.What, c.Row, c.Set)
				}
				all[c] = PrintedNumber{c, *v, settings, p.Source}
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b PrintedNumber) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Set, b.Set), cmp.Compare(a.What, b.What))
	}), nil
}

func (m Matrix) cells() (all []Cell) {
	for _, what := range m.Own {
		all = append(all, Cell{Set: OwnImages, What: what})
	}
	for _, set := range m.On {
		for _, what := range m.What {
			all = append(all, Cell{Set: set, What: what})
		}
	}
	return all
}

// OwnImages is the set of those that a network was trained for, beside foreign ones.
const OwnImages = "own"

// or has the table's settings where a matrix has none.
func (s Settings) or(t Settings) Settings {
	s.Data, s.Network, s.Found = cmp.Or(s.Data, t.Data), cmp.Or(s.Network, t.Network), cmp.Or(s.Found, t.Found)
	s.Epochs, s.Images, s.N = cmp.Or(s.Epochs, t.Epochs), cmp.Or(s.Images, t.Images), cmp.Or(s.N, t.N)
	s.Sigma, s.Alpha = cmp.Or(s.Sigma, t.Sigma), cmp.Or(s.Alpha, t.Alpha)
	s.Epsilon, s.Decimals = cmp.Or(s.Epsilon, t.Epsilon), cmp.Or(s.Decimals, t.Decimals)
	s.Percent = s.Percent || t.Percent
	if s.Severities == nil {
		s.Severities = t.Severities
	}
	return s
}

// Cap is the largest radius that a fixed number of samples can prove, σ Φ⁻¹(α^(1/n)) (Cohen et al.
// 2019); 0 where a setting is not known.
func (s Settings) Cap() float64 {
	if s.Sigma <= 0 || s.N <= 0 || s.Alpha <= 0 {
		return 0
	}
	return s.Sigma * distuv.UnitNormal.Quantile(math.Pow(s.Alpha, 1/float64(s.N)))
}

// PrintedTable are printed numbers as a source of cells. Numbers in percent are shares there.
type PrintedTable struct {
	Cells map[Cell]PrintedNumber
	// Expand names the single sets that a set is the mean over, at severities; nil: the set itself.
	Expand func(set string, severities []int) []string
}

// Mean is a printed number.
func (p PrintedTable) Mean(c Cell) (float64, bool, error) {
	n, ok := p.Cells[c]
	if n.Settings.Percent {
		n.Value /= 100
	}
	return n.Value, ok, nil
}

// Context says how a printed number was found.
func (p PrintedTable) Context(c Cell) Context {
	s := p.Cells[c].Settings
	x := Context{What: c.What, Unit: UnitOf(c.What), Set: c.Set, Sets: []string{c.Set}, Data: s.Data, Network: s.Network,
		Images: s.Images, Sigma: s.Sigma, Epsilon: s.Epsilon, Found: s.Found}
	if p.Expand != nil {
		x.Sets = p.Expand(c.Set, s.Severities)
	}
	if x.Unit == "radius" {
		x.Cap = s.Cap()
	}
	return x
}

// UnitOf a quantity, by its first word.
func UnitOf(what string) string {
	switch word, _, _ := strings.Cut(what, " "); word {
	case "acr":
		return "radius"
	case "r2":
		return "R²"
	case "slope":
		return "slope"
	}
	return "share"
}
