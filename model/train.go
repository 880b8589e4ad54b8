package model

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/listen"
)

// Recipe says how Train trains a network. Every field has a default; package train has all settings there are.
type Recipe struct {
	Net     string         // name of the network, e.g. resnet20; default small-cnn
	Sigma   float64        // standard deviation of the noise, unit: full range of a value; 0: none
	Method  string         // of package method; default gaussian
	Options map[string]any // of the method, e.g. {"lambda": 20.}
	Views   string         // augmentation that makes the method's views, e.g. fouriermix
	Augment string         // of every view: none (default), crop-flip, crop, flip, …
	Epochs  int            // passes over the data; default 10
	Batch   int            // images in a step
	Rate    float64        // learning rate at the beginning
	Seed    uint64         // of weights, order, views and noise
	From    string         // path of a model file whose weights training begins with; "": random ones

	// Labelled images for the accuracies on the card; nil: the test part of the known set that is trained on.
	Test *dataset.Dataset
}

// Train returns a handle on a network that is trained on images with Gaussian noise, and kept as a model file at path.
// It is trained when it is first needed, with progress, and only once: an interrupted training goes on where it was.
// Errors, of the verb that needs it: those of train.Run, and a file at path of another recipe or data.
func Train(path string, data *dataset.Dataset, r Recipe) *Model {
	return &Model{path: path, engine: sync.OnceValues(func() (*engine.Model, error) {
		o, err := r.options(path, data)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", path, err)
		}
		if _, err := train.Run(listen.Context(), o); err != nil {
			return nil, err
		}
		return engine.Open(path, engine.Progress(o.Progress))
	})}
}

func (r Recipe) options(path string, data *dataset.Dataset) (o train.Options, err error) {
	o = train.Options{Network: r.Net, Sigma: &r.Sigma, Method: r.Method, Options: r.Options, Views: r.Views,
		Augment: modelfile.Augmentation(r.Augment), Epochs: r.Epochs, BatchSize: r.Batch, LearningRate: r.Rate,
		Seed: r.Seed, From: r.From, Train: data, Test: r.Test, Out: path, Command: strings.Join(os.Args, " "),
		Progress: listen.Progress()}
	if o.Test != nil {
		return o, nil
	}
	set, part, _ := strings.Cut(data.String(), "/")
	if strings.Contains(set, ":") || !strings.HasPrefix(part, "train") {
		return o, fmt.Errorf("Recipe.Test is missing: the images for the accuracies on the card; none are known to go "+
			"with %s", data)
	}
	o.Test, err = dataset.Open(set + "/test")
	return o, err
}
