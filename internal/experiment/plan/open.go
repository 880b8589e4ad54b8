package plan

import (
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
)

// Opener opens the data and networks of an experiment; the last network stays open.
type Opener struct {
	store.Place
	Options Options
	Opened  string // path of the network
	sets    map[string]*dataset.Dataset
	model   *engine.Model
}

// NewOpener opens nothing yet.
func NewOpener(e *Experiment) *Opener {
	return &Opener{Place: store.Place{Folder: e.Options.Folder, Manifest: e.Manifest}, Options: e.Options,
		sets: map[string]*dataset.Dataset{}}
}

// Close closes the network that is open.
func (o *Opener) Close() {
	if o.model != nil {
		o.model.Close()
	}
	o.model, o.Opened = nil, ""
}

// Set opens a data set once.
func (o *Opener) Set(name string) (*dataset.Dataset, error) {
	if d := o.sets[name]; d != nil {
		return d, nil
	}
	d, err := recipe.OpenSet(name)
	if err == nil {
		o.sets[name] = d
	}
	return d, err
}

// OpenAt opens the model at a path, and closes the one before.
func (o *Opener) OpenAt(path string, m *recipe.Model) (*engine.Model, error) {
	if o.Opened == path {
		return o.model, nil
	}
	o.Close()
	options := []engine.Option{engine.Backend(o.Options.Engine)}
	if m.File != "" {
		card, err := settings.ONNXCard(m)
		if err != nil {
			return nil, err
		}
		options = append(options, engine.ONNX(onnx.Options{Card: card}))
	}
	model, err := engine.Open(path, options...)
	if err != nil {
		return nil, err
	}
	warnings, err := model.Warnings()
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		o.Options.Progress.Say("%s", w)
	}
	o.Opened, o.model = path, model
	return model, nil
}
