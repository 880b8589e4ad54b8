package tier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs/sweep"
)

// Radius is the certified radius of clean and corrupted images: a ledger for each cell, and of all
// of them results/MODEL.csv.
type Radius struct {
	Clean  bool     `yaml:"clean,omitempty" json:"clean,omitempty"`   // measured with sweeps, too
	Sweeps []string `yaml:"sweeps,omitempty" json:"sweeps,omitempty"` // families of corruptions: C, C-bar, F
	// a column for each corruption, not only for the groups
	Detail bool `yaml:"detail,omitempty" json:"detail,omitempty"`
}

// Name is the key under which tables ask for a measure. Certified radii have none: their settings
// stand beside the keys of the others.
func (Radius) Name() string { return "radius" }

// Shifts name corruptions and severities of a measure.
type Shifts struct {
	// names, families or groups, as fog or C
	Corrupt    []string `yaml:"corrupt,omitempty" json:"corrupt,omitempty"`
	Severities []int    `yaml:"severities,omitempty" json:"severities,omitempty"` // default those of the tier
}

// Cells are the clean set and the corruptions at the strengths of a tier.
func (s Shifts) Cells(t Tier) ([]sweep.Cell, error) {
	var names []string
	for _, word := range s.Corrupt {
		if _, err := corrupt.Find(word); err == nil {
			names = append(names, word)
			continue
		}
		of, err := corrupt.Names([]string{word})
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		names = append(names, of...)
	}
	severities := s.Severities
	if severities == nil {
		severities = t.Corrupted.Severities
	}
	if len(names) == 0 {
		severities = nil
	}
	cells, err := sweep.Cells(names, corrupt.Setting{}, severities)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return append([]sweep.Cell{{}}, cells...), nil
}

// ImageNetCBar is the family of ImageNet-C-bar (Mintun et al. 2021, arXiv 2102.11273), other
// corruptions than those of CIFAR-10-C-bar. They are read from the published pictures, not made, as
// for ImageNet-C, whose strengths are others than CIFAR's: so a network is certified on the same
// pictures as in the papers.
const ImageNetCBar = "ImageNet-C-bar"

var imagenetBarNames = []string{"blue_noise_sample", "brownish_noise", "caustic_refraction", "checkerboard_cutout",
	"cocentric_sine_waves",
	"inverse_sparkles", "perlin_noise", "plasma_noise", "single_frequency_greyscale", "sparkles"}

// FamilyNames are the corruptions of a family of a measure's sweeps.
func FamilyNames(word string) ([]string, error) {
	if word == ImageNetCBar {
		return imagenetBarNames, nil
	}
	return corrupt.Names([]string{word})
}

// familyCells are the cells of some corruptions of a family.
func familyCells(word string, names []string) ([]sweep.Cell, error) {
	if word != ImageNetCBar {
		return sweep.Cells(names, corrupt.Setting{}, nil)
	}
	var cells []sweep.Cell
	for _, name := range names {
		for severity := 1; severity <= GreatestSeverity; severity++ {
			cells = append(cells, sweep.Cell{Corruption: name, Severity: severity, Setting: corrupt.Setting{Name: name,
				Severity: severity}})
		}
	}
	return cells, nil
}

// Cells are the corruptions of a measure at the strengths of the tier, the clean set first where
// anything is certified.
func (t Tier) Cells(m Radius) ([]sweep.Cell, error) {
	var cells []sweep.Cell
	if m.Clean || len(m.Sweeps) > 0 {
		cells = append(cells, sweep.Cell{})
	}
	for _, name := range t.Corrupted.Corruptions {
		if _, err := corrupt.Find(name); err != nil {
			return nil, fmt.Errorf("experiment: tier %s: %w", t.Name, err)
		}
	}
	for _, word := range m.Sweeps {
		names, err := FamilyNames(word)
		few := t.Corrupted.Corruptions
		if err != nil || word == string(corrupt.F) {
			few = nil
		}
		if err != nil {
			if _, unknown := corrupt.Find(word); unknown != nil {
				return nil, fmt.Errorf("experiment: sweep %q: %w", word, unknown)
			}
			names = []string{word}
		}
		all, err := familyCells(word, names)
		if err != nil {
			return nil, fmt.Errorf("experiment: sweep %q: %w", word, err)
		}
		for _, c := range all {
			if t.has(c) && Among(few, c.Setting.Name) && !slices.ContainsFunc(cells,
				func(o sweep.Cell) bool { return o.String() == c.String() }) {
				cells = append(cells, c)
			}
		}
	}
	return cells, nil
}

// has reports whether a tier takes a corruption at this strength.
func (t Tier) has(c sweep.Cell) bool {
	s := c.Setting
	if s.Norm > 0 {
		f := t.Fourier
		return Among(f.Centres, s.Centre) && Among(f.Decays, s.Decay) && Among(f.Norms, s.Norm)
	}
	return Among(t.Corrupted.Severities, s.Severity)
}

// Among reports whether a list, of all values where it is empty, has a value.
func Among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// GreatestSeverity is that of corruptions.
const GreatestSeverity = 5

// Mean is the mean over some sets: a column of a table.
type Mean struct {
	Name  string   `json:"name"`
	Main  bool     `json:"main"` // with differences
	Cells []string `json:"cells"`
}

// Means are the columns of a measure: clean, every corruption where it asks for detail, the mean
// of each sweep, its groups, and its mean at the greatest severity where there are several.
func Means(m Radius, cells []sweep.Cell) (list []Mean) {
	named := func(has func(sweep.Cell) bool) (names []string) {
		for _, c := range cells {
			if c.Corruption != "" && has(c) {
				names = append(names, c.String())
			}
		}
		return names
	}
	if len(cells) > 0 {
		list = append(list, Mean{"clean", true, []string{sweep.Cell{}.String()}})
	}
	for _, word := range m.Sweeps {
		names, err := FamilyNames(word)
		family := err == nil
		if !family {
			names = []string{word}
		}
		of := func(c sweep.Cell) bool { return slices.Contains(names, c.Setting.Name) }
		if m.Detail || !family {
			var seen []string
			for _, c := range cells {
				if of(c) && c.Corruption != "" && !slices.Contains(seen, c.Corruption) {
					seen = append(seen, c.Corruption)
					list = append(list, Mean{c.Corruption, !family,
						named(func(o sweep.Cell) bool { return o.Corruption == c.Corruption })})
				}
			}
		}
		if !family {
			continue
		}
		list = append(list, Mean{"mACR " + word, true, named(of)})
		for _, g := range corrupt.Groups[:3] { // by frequency
			if !slices.ContainsFunc(g.Corruptions, func(name string) bool { return !slices.Contains(names, name) }) {
				list = append(list, Mean{word + " " + strings.ToUpper(g.Name[:1]) + g.Name[1:], false,
					named(func(c sweep.Cell) bool { return slices.Contains(g.Corruptions, c.Corruption) })})
			}
		}
		hardest := named(func(c sweep.Cell) bool { return of(c) && c.Setting.Severity == GreatestSeverity })
		if len(hardest) > 0 && len(hardest) < len(named(of)) {
			list = append(list, Mean{fmt.Sprintf("%s severity %d", word, GreatestSeverity), false, hardest})
		}
	}
	return list
}
