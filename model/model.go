// Package model opens or trains a network for a cell or a small program: an ONNX file, a model file of certspec, or an
// integer network. It is apart from package nb, so that cells without a network need no engine. A program links the
// engines; in a cell, which the kernel builds with the tag cell, a process of the kernel has them, and keeps weights
// from cell to cell.
package model

import (
	"context"
	"fmt"
	"sync"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/table"
)

// Model is a network that is opened when it is first needed. It is safe for concurrent use.
type Model struct {
	path   string
	engine func() (network, error)
}

// network is an opened network: an engine.Model, or in a cell one that the kernel's process has.
type network interface {
	classifier.Classifier
	Card() *modelfile.Card
	FormerIdentities() ([]classifier.Identity, error)
	Preprocessing() (string, error)
	ClassNames() ([]string, error)
	Trained() []ledger.Data
	FeedForward(ctx context.Context) (*feedforward.Network, error)
	Gradients(ctx context.Context) (g classifier.Differentiable, how string, end func() error, err error)
	Close() error
}

// Input says what an ONNX file does not: how images enter, and what its outputs are. A zero field is found from the
// file or the card beside it.
type Input struct {
	Mean, Std    []float64 // per channel, red first, or one for all, in the file's own units of a value
	Scale        float64   // what white is: 1, or 255
	Layout       string    // "NCHW" or "NHWC"
	ChannelOrder string    // "RGB" or "BGR"
	Output       string    // name of the output of the graph, if it has several
	ClassNames   []string
}

// Open returns a handle on the network at path, NAME.onnx or a model file NAME. Nothing is read before the network is
// first needed: a wrong path is an error of the verb that needs it.
func Open(path string, in ...Input) *Model {
	return &Model{path: path, engine: sync.OnceValues(func() (network, error) {
		switch {
		case len(in) > 1:
			return nil, fmt.Errorf("model %s: %d values of model.Input; expected one", path, len(in))
		case len(in) == 1 && !onnxfile.IsName(path):
			return nil, fmt.Errorf("model %s: model.Input is for ONNX files; the card of a model file says how images "+
				"enter", path)
		}
		return open(path, in...)
	})}
}

// Card returns what a model file says of its network; nil for an ONNX file.
func (m *Model) Card() (*modelfile.Card, error) {
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	return e.Card(), nil
}

// Gradients returns the gradients of the network's logits; end frees what they hold. See engine.Model.Gradients.
func (m *Model) Gradients(ctx context.Context) (g classifier.Differentiable, end func() error, err error) {
	e, err := m.engine()
	if err != nil {
		return nil, nil, err
	}
	g, _, end, err = e.Gradients(ctx)
	return g, end, err
}

// Classify classifies a batch of images, as classifier.Classifier has it.
func (m *Model) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	e, err := m.engine()
	if err != nil {
		return err
	}
	return e.Classify(ctx, batch, result)
}

// Info returns the network's name, the shape of its images, its number of classes and its identity.
func (m *Model) Info() (classifier.Info, error) {
	e, err := m.engine()
	if err != nil {
		return classifier.Info{}, err
	}
	return e.Info()
}

// FormerIdentities returns the identities that earlier versions gave the network, so that their ledgers go on.
func (m *Model) FormerIdentities() ([]classifier.Identity, error) {
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	return e.FormerIdentities()
}

// Preprocessing says what is done to images before the network.
func (m *Model) Preprocessing() (string, error) {
	e, err := m.engine()
	if err != nil {
		return "", err
	}
	return e.Preprocessing()
}

// FeedForward returns the network as layers, for bounds. Errors: a network that is none of layers.
func (m *Model) FeedForward(ctx context.Context) (*feedforward.Network, error) {
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	return e.FeedForward(ctx)
}

// Trained returns the sets that the network was trained on, where it says so: bounds on these prove nothing of others.
func (m *Model) Trained() ([]ledger.Data, error) {
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	return e.Trained(), nil
}

// ClassNames returns what the network calls its classes, or nil where it does not say.
func (m *Model) ClassNames() ([]string, error) {
	e, err := m.engine()
	if err != nil {
		return nil, err
	}
	return e.ClassNames()
}

// Table returns what is known of the network: the card of a model file, or the facts of another file.
func (m *Model) Table() *table.Table {
	t := table.New("model", m.path)
	e, err := m.engine()
	if err != nil {
		return t.Add("error", err.Error())
	}
	if card := e.Card(); card != nil {
		return card.Table()
	}
	info, err := e.Info()
	if err != nil {
		return t.Add("error", err.Error())
	}
	t.Add("images", info.Shape.String()).Add("classes", info.Classes)
	if how, err := e.Preprocessing(); err == nil {
		t.Add("preprocessing", how)
	}
	return t.Add("engine", info.Identity.Engine+" "+info.Identity.EngineVersion)
}

// Close frees the network, if it was opened.
func (m *Model) Close() error {
	e, err := m.engine()
	if err != nil {
		return nil
	}
	return e.Close()
}
