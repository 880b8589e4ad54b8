package recipe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/study/tier"
)

// softSuffix makes the kind of a ledger over the training images whose votes are soft labels, as in
// cifar10-soft; see train.Options.Soft.
const softSuffix = "-soft"

// StartSuffix makes the kind of a network that trainings begin with, as in cifar10-start.
const StartSuffix = "-start"

// given takes what a training begins with that would begin from random weights: the network that
// was given for its kind of data, with its architecture. One that was trained without crops and
// flips goes on without, as a network that does not pool must. Ok is whether there is one.
func (s *Setup) given(m *Model, r Recipe) (ok bool, err error) {
	path := s.Places[m.Data+StartSuffix]
	if path == "" || r.Start != "" || m.Adapt != nil {
		return false, nil
	}
	card, err := modelfile.ReadCard(path)
	if err != nil {
		return false, fmt.Errorf("the network to begin with (%s%s): %w", m.Data, StartSuffix, err)
	}
	a := card.Architecture
	m.Network, m.Input, m.Width, m.Bias = a.Name, a.Input, a.Width, a.Bias
	if card.Recipe.Augment == train.NoneAug {
		m.Augment = train.NoneAug
	}
	m.Begin = &begin{File: path, Weights: card.Weights}
	return true, nil
}

// begin is a network that was there before the experiment.
type begin struct {
	File    string `json:"file"`
	Weights string `json:"weights"` // "sha256:…"
}

// Check reports a file that is another one by now.
func (b *begin) Check() error {
	card, err := modelfile.ReadCard(b.File)
	if err == nil && card.Weights != b.Weights {
		err = fmt.Errorf("experiment: %s, which training begins with, has the weights %s; the folder is for %s",
			modelfile.CardPath(b.File), card.Weights, b.Weights)
	}
	return err
}

// BaseKind is a kind of data without what a suffix adds.
func BaseKind(kind string) string {
	for _, suffix := range []string{StartSuffix, softSuffix, tier.OfficialSuffix, tier.GroupsSuffix, tier.ClassesSuffix} {
		kind = strings.TrimSuffix(kind, suffix)
	}
	return kind
}

// equalRows makes a model take as many rows in a step, and as many in all, as every other one of
// its data: those of views, noises, attacks and second passes are counted. Epochs come from a
// method with one row for each image.
func (s *Setup) equalRows(m *Model, rows, epochs int) (int, error) {
	each, err := s.Rows(*m)
	if err != nil {
		return 0, err
	}
	if rows%each != 0 || epochs%each != 0 {
		return 0, fmt.Errorf("tier %s: %d rows in a step and %d epochs of one row for each image; method %s takes "+
			"%d rows for each, which divides one of them with a rest",
			s.Tier.Name, rows, epochs, m.Method, each)
	}
	m.BatchSize = rows / each
	return epochs / each, nil
}

// Rows is how many rows a training at the tier takes through the network and back for each image.
func (s *Setup) Rows(m Model) (int, error) {
	options, err := s.limited(m)
	if err != nil {
		return 0, err
	}
	m.Options = options
	made, err := s.Method(m)
	if err != nil {
		return 0, err
	}
	return made.Needs().Rows(), nil
}

// Sets names the parts of a kind of data.
func (s *Setup) Sets(kind string) (train, test string, err error) {
	d, err := find(s.Library, "data", s.Library.data, kind)
	if err != nil {
		return "", "", err
	}
	at := cmp.Or(s.Tier.Data[kind].At, d.At)
	if place, ok := s.Places[kind]; ok {
		at = place
	} else if instead, ok := s.Library.data[s.Tier.Data[kind].At]; ok { // of a kind that has parts of its own
		at, d = instead.At, instead
	}
	return WithDecoder(strings.ReplaceAll(d.Train, "{}", at)), WithDecoder(strings.ReplaceAll(d.Test, "{}", at)), nil
}

// WithDecoder is the name of a data set that says how its JPEG pictures are decoded, where it may have some.
func WithDecoder(name string) string {
	d, err := dataset.Open(name)
	if err != nil || d.Preparation().JPEG == "" {
		return name // an error comes where it is opened
	}
	base, rest := tier.CutSelection(name)
	part := "jpeg=" + d.Preparation().JPEG
	if strings.Contains(rest, part) {
		return name
	}
	return tier.Select(base+"["+part+"]", rest)
}

// OpenSet opens a set of a manifest; names without a decoder of JPEG pictures are of earlier versions.
func OpenSet(name string) (*dataset.Dataset, error) { return dataset.OpenLike(name, name) }

// ExtraSet is a further set of images that a recipe's method learns from; see train.Set.
type ExtraSet struct {
	// kind of data, whose train part it is; of a Model the name of the set
	Data string `yaml:"data" json:"data"`
	// added to its name, as in channels=grey
	Prepare string                 `yaml:"prepare,omitempty" json:"prepare,omitempty"`
	Batch   int                    `yaml:"batch,omitempty" json:"batch,omitempty"`
	Augment modelfile.Augmentation `yaml:"augment,omitempty" json:"augment,omitempty"`
	Views   string                 `yaml:"views,omitempty" json:"views,omitempty"`
	Sigma   float64                `yaml:"sigma,omitempty" json:"sigma,omitempty"`
}

// further are a recipe's further sets with the names of their images.
func (s *Setup) further(r Recipe) (map[string]ExtraSet, error) {
	var all map[string]ExtraSet
	for name, f := range r.More {
		learn, _, err := s.Sets(f.Data)
		if err != nil {
			return nil, fmt.Errorf("further set %s: %w", name, err)
		}
		f.Data, f.Prepare = tier.Select(tier.Select(learn, f.Prepare), s.Tier.Data[f.Data].Train), ""
		if all == nil {
			all = map[string]ExtraSet{}
		}
		all[name] = f
	}
	return all, nil
}

// OpenMore opens the further sets of a model.
func (m Model) OpenMore() (map[string]train.Set, error) {
	var all map[string]train.Set
	for name, f := range m.More {
		d, err := OpenSet(f.Data)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: the set %s: %w", m.Name, name, err)
		}
		if all == nil {
			all = map[string]train.Set{}
		}
		all[name] = train.Set{Data: d, Batch: f.Batch, Augment: f.Augment, Views: f.Views, Sigma: f.Sigma}
	}
	return all, nil
}
