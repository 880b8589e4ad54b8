package experiment

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
)

// softSuffix makes the kind of a ledger over the training images whose votes are soft labels, as in
// cifar10-soft; see train.Options.Soft.
const softSuffix = "-soft"

// startSuffix makes the kind of a network that trainings begin with, as in cifar10-start.
const startSuffix = "-start"

// given takes what a training begins with that would begin from random weights: the network that
// was given for its kind of data, with its architecture. One that was trained without crops and
// flips goes on without, as a network that does not pool must. Ok is whether there is one.
func (s *Setup) given(m *Model, r Recipe) (ok bool, err error) {
	path := s.Places[m.Data+startSuffix]
	if path == "" || r.Start != "" || m.Adapt != nil {
		return false, nil
	}
	card, err := modelfile.ReadCard(path)
	if err != nil {
		return false, fmt.Errorf("the network to begin with (%s%s): %w", m.Data, startSuffix, err)
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

// check reports a file that is another one by now.
func (b *begin) check() error {
	card, err := modelfile.ReadCard(b.File)
	if err == nil && card.Weights != b.Weights {
		err = fmt.Errorf("experiment: %s, which training begins with, has the weights %s; the folder is for %s",
			modelfile.CardPath(b.File), card.Weights, b.Weights)
	}
	return err
}

// needed reports models of a tier that begin with finished weights, where none were given.
func checkStarts(m *Manifest) error {
	for _, model := range m.Models {
		if m.Tier.Data[model.Data].Given && model.Begin == nil && model.Start == "" && model.File == "" &&
			model.Results == "" {
			return &StartError{m.Tier.Name, model.Name, model.Data}
		}
	}
	return nil
}

// StartError is a network to begin with that a tier wants and nobody gave.
type StartError struct{ Tier, Model, Data string }

func (e *StartError) Error() string {
	return fmt.Sprintf("experiment: at tier %s %s begins with a finished network, and none was given: --data "+
		"%s%s=MODEL, a file in notebooks/models of the repository or from certspec import",
		e.Tier, e.Model, e.Data, startSuffix)
}

// kindOf is a kind of data without what a suffix adds.
func kindOf(kind string) string {
	for _, suffix := range []string{startSuffix, softSuffix, officialSuffix, groupsSuffix, classesSuffix} {
		kind = strings.TrimSuffix(kind, suffix)
	}
	return kind
}

// equalRows makes a model take as many rows in a step, and as many in all, as every other one of
// its data: those of views, noises, attacks and second passes are counted. Epochs are those of a
// method with one row for each image.
func (s *Setup) equalRows(m *Model, rows, epochs int) (int, error) {
	each, err := s.rowsOf(*m)
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

// rowsOf is how many rows a training at the tier takes through the network and back for each image.
func (s *Setup) rowsOf(m Model) (int, error) {
	options, err := s.limited(m)
	if err != nil {
		return 0, err
	}
	m.Options = options
	made, err := s.method(m)
	if err != nil {
		return 0, err
	}
	return made.Needs().Rows(), nil
}
