package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/ood/record"
)

// foreignSets say against which images the networks of a kind of data are measured, and in which balls around them.
type foreignSets struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // largest change of a value, 1 = full range
	Near    float64 `yaml:"near,omitempty" json:"near,omitempty"`
	// kinds of data, whose test parts they are, prepared as in out[channels=grey]
	Foreign []string `yaml:"foreign" json:"foreign"`
	Images  []string `yaml:"-" json:"images,omitempty"` // the same as names of sets
	Attack  string   `yaml:"-" json:"attack,omitempty"` // what of them is attacked

	way, among string // of a measure, where it has them: its bounds and its networks; they stand in the names of files
}

// foreignData are the sets by the kind of data that a network is for.
type foreignData map[string]foreignSets

// at fills in the names of the sets.
func (d foreignData) at(s *Setup) (foreignData, error) {
	d = maps.Clone(d)
	for kind, of := range d {
		if !(of.Epsilon >= 0 && of.Epsilon <= 1) {
			return nil, fmt.Errorf("experiment: %s: epsilon is %v; expected a number from 0 to 1", kind, of.Epsilon)
		}
		of.Images, of.Attack = nil, s.Tier.Images["attack"]
		for _, name := range of.Foreign {
			base, prepared := cutSelection(name)
			_, test, err := s.sets(base)
			if err != nil {
				return nil, err
			}
			of.Images = append(of.Images, with(with(test, prepared), s.Tier.Data[base].Test))
		}
		d[kind] = of
	}
	return d, nil
}

// jobs are one for each foreign set of a model with a network of its own; nothing for other kinds of data.
func foreignJobs(d foreignData, kind string, m *Model) (all []Job) {
	if m.Adapt != nil || m.Results != "" {
		return nil
	}
	for _, name := range d[m.Data].Foreign {
		all = append(all, Job{Kind: kind, Model: m, Part: word(name)})
	}
	return all
}

// of is the place of a set of a kind of data.
func (d foreignData) of(data, part string) (foreignSets, int) {
	f := d[data]
	return f, slices.IndexFunc(f.Foreign, func(name string) bool { return word(name) == part })
}

// word is a set's name without what is done to it.
func word(name string) string {
	base, _ := cutSelection(name)
	return base
}

// Endings of the files of a foreign set; in ownFile are a network's own images.
const (
	ownFile      = "in.ood"
	boundEnds    = ".ood"
	attackEnds   = ".attack.ood"
	transferEnds = ".transfer.ood"
	pointsEnds   = ".npy"
)

// file is where what is measured of a set lies.
func foreignFile(f foreignSets, folder string, m *Model, part, ending string) string {
	return filepath.Join(folder, "ood", m.Slug(), part+"-"+strconv.FormatFloat(f.Epsilon, 'g', -1, 64)+ending)
}

// boundEnding and transferEnding are those of what a measure has for itself.
func (f foreignSets) boundEnding() string    { return suffixed(f.way, boundEnds) }
func (f foreignSets) transferEnding() string { return suffixed(f.among, transferEnds) }

// bounds names those of the measure, where they are not by rigorous intervals.
func (f foreignSets) bounds() string { return f.way }

// by is Areas.By.
func (f foreignSets) by() string { return cmp.Or(f.way, f.among) }

// suffixed puts a word before the ending of a file's name.
func suffixed(word, ending string) string {
	if word != "" {
		return "." + word + ending
	}
	return ending
}

// with are the sets of a measure.
func (d foreignData) with(way, among string) foreignData {
	d = maps.Clone(d)
	for kind, of := range d {
		of.way, of.among = way, among
		d[kind] = of
	}
	return d
}

func ownPath(folder string, m *Model) string { return filepath.Join(folder, "ood", m.Slug(), ownFile) }

// ownImages are a model's own images: those of the accuracies on its card, for a finished network
// those that a card of the tier would name.
func (p *Place) ownImages(m *Model) string {
	return cmp.Or(m.Check, with(m.Test, p.Manifest.Tier.Data[m.Data].Test))
}

// closed reads a file of bounds or attacks; nil where it is not there or not finished.
func closed(path string) (*record.File, error) {
	f, err := record.Read(path)
	var format *record.FormatError
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && f.Claims == nil, errors.As(err, &format) && format.Empty:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return f, nil
}

// unfinished reports whether any of some files is not there whole.
func unfinished(paths ...string) (bool, error) {
	for _, path := range paths {
		if f, err := closed(path); f == nil || err != nil {
			return true, err
		}
	}
	return false, nil
}

// adversarySettings say how foreign images are attacked; zero values are those of the paper.
type adversarySettings struct {
	Attacks  []string `yaml:"attacks,omitempty" json:"attacks,omitempty"`
	Steps    int      `yaml:"steps,omitempty" json:"steps,omitempty"` // of Auto-PGD
	Restarts int      `yaml:"restarts,omitempty" json:"restarts,omitempty"`
	Monotone int      `yaml:"monotone,omitempty" json:"monotone,omitempty"` // steps of monotone PGD
	// points of other networks that it begins with, the best; 0: all
	Transfer int `yaml:"transfer,omitempty" json:"transfer,omitempty"`
}

func (a adversarySettings) String() string {
	return fmt.Sprintf("%s; %d steps of Auto-PGD from %d starts, %d of monotone PGD", strings.Join(a.Attacks, ", "),
		a.Steps, a.Restarts, a.Monotone)
}
