package experiment

import (
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
)

// opener opens the data and networks of an experiment; the last network stays open.
type opener struct {
	Place
	options Options
	opened  string // path of the network
	sets    map[string]*dataset.Dataset
	model   *engine.Model
}

// newOpener opens nothing yet.
func newOpener(e *Experiment) *opener {
	return &opener{Place: Place{Folder: e.options.Folder, Manifest: e.Manifest}, options: e.options,
		sets: map[string]*dataset.Dataset{}}
}

// close closes the network that is open.
func (o *opener) close() {
	if o.model != nil {
		o.model.Close()
	}
	o.model, o.opened = nil, ""
}

// set opens a data set once.
func (o *opener) set(name string) (*dataset.Dataset, error) {
	if d := o.sets[name]; d != nil {
		return d, nil
	}
	d, err := openSet(name)
	if err == nil {
		o.sets[name] = d
	}
	return d, err
}

// open opens the model at a path, and closes the one before.
func (o *opener) open(path string, m *Model) (*engine.Model, error) {
	if o.opened == path {
		return o.model, nil
	}
	o.close()
	options := []engine.Option{engine.Backend(o.options.Engine)}
	if m.File != "" {
		card, err := m.card()
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
		o.options.Progress.Say("%s", w)
	}
	o.opened, o.model = path, model
	return model, nil
}
