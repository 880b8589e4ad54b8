package measure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/rs/sweep"
)

// ForeignSets say against which images the networks of a kind of data are measured, and in which balls around them.
type ForeignSets struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // largest change of a value, 1 = full range
	Near    float64 `yaml:"near,omitempty" json:"near,omitempty"`
	// kinds of data, whose test parts they are, prepared as in out[channels=grey]
	Foreign []string `yaml:"foreign" json:"foreign"`
	Images  []string `yaml:"-" json:"images,omitempty"` // the same as names of sets
	Attack  string   `yaml:"-" json:"attack,omitempty"` // what of them is attacked

	way, among string // of a measure, where it has them: its bounds and its networks; they stand in the names of files
}

// ForeignData are the sets by the kind of data that a network is for.
type ForeignData map[string]ForeignSets

// at fills in the names of the sets.
func (d ForeignData) at(s Setting) (ForeignData, error) {
	d = maps.Clone(d)
	for kind, of := range d {
		if !(of.Epsilon >= 0 && of.Epsilon <= 1) {
			return nil, fmt.Errorf("experiment: %s: epsilon is %v; expected a number from 0 to 1", kind, of.Epsilon)
		}
		of.Images, of.Attack = nil, s.Tier.Images["attack"]
		for _, name := range of.Foreign {
			base, prepared := tier.CutSelection(name)
			_, test, err := s.Sets(base)
			if err != nil {
				return nil, err
			}
			of.Images = append(of.Images, tier.Select(tier.Select(test, prepared), s.Tier.Data[base].Test))
		}
		d[kind] = of
	}
	return d, nil
}

// Set is the place of a set of a kind of data.
func (d ForeignData) Set(data, part string) (ForeignSets, int) {
	f := d[data]
	return f, slices.IndexFunc(f.Foreign, func(name string) bool { return SetName(name) == part })
}

// SetName is a set's name without what is done to it.
func SetName(name string) string {
	base, _ := tier.CutSelection(name)
	return base
}

// Endings of the files of a foreign set.
const (
	BoundEnds    = ".ood"
	AttackEnds   = ".attack.ood"
	transferEnds = ".transfer.ood"
	PointsEnds   = ".npy"
)

// BoundEnding and transferEnding are the endings of a measure's own files.
func (f ForeignSets) BoundEnding() string { return Suffixed(f.way, BoundEnds) }

// TransferEnding ends the name of the file of transferred attacks.
func (f ForeignSets) TransferEnding() string { return Suffixed(f.among, transferEnds) }

// Bounds names those of the measure, where they are not by rigorous intervals.
func (f ForeignSets) Bounds() string { return f.way }

// By is Areas.By.
func (f ForeignSets) By() string { return cmp.Or(f.way, f.among) }

// Suffixed puts a word before the ending of a file's name.
func Suffixed(word, ending string) string {
	if word != "" {
		return "." + word + ending
	}
	return ending
}

// with are the sets of a measure.
func (d ForeignData) with(way, among string) ForeignData {
	d = maps.Clone(d)
	for kind, of := range d {
		of.way, of.among = way, among
		d[kind] = of
	}
	return d
}

// ScoresPath is where what is measured of a set lies, below the folder.
func ScoresPath(f ForeignSets, slug, part, ending string) string {
	return filepath.Join("ood", slug, part+"-"+strconv.FormatFloat(f.Epsilon, 'g', -1, 64)+ending)
}

// OwnScoresPath is where the scores on a network's own images lie, below the folder.
func OwnScoresPath(slug string) string { return filepath.Join("ood", slug, "in.ood") }

// foreignJobs are one for each foreign set of a model with a network of its own; none for other kinds of data.
func foreignJobs(d ForeignData, kind string, m *Model) (all []Job) {
	if m.Adapted {
		return nil
	}
	for _, name := range d[m.Data].Foreign {
		all = append(all, Job{Kind: kind, Model: m, Part: SetName(name)})
	}
	return all
}

// layersOf opens a model as layers.
func layersOf(ctx context.Context, t Tools, m *Model) (*feedforward.Network, ood.Options, error) {
	model, err := t.Open(ctx, m, sweep.Cell{})
	if err != nil {
		return nil, ood.Options{}, err
	}
	n, err := model.FeedForward(ctx)
	return n, ood.Options{Name: m.Name, Trained: model.Trained(), Program: t.Program(), Progress: t.Report}, err
}
