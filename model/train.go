package model

import (
	"fmt"
	"strings"
	"sync"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/listen"
)

// Recipe says how Train trains a network. Every field has a default; package train has all settings there are.
type Recipe struct {
	Net     string         // name of the network, e.g. resnet20; default small-cnn
	Sigma   float64        // standard deviation of the noise, unit: full range of a value; 0: none
	Method  string         // of package method; default gaussian
	Options map[string]any `json:"-"` // of the method, e.g. {"lambda": 20.}
	Views   string         // augmentation that makes the method's views, e.g. fouriermix
	Augment string         // of every view: none (default), crop-flip, crop, flip, …
	Epochs  int            // passes over the data; default 10
	Batch   int            // images in a step
	Rate    float64        // learning rate at the beginning
	Seed    uint64         // of weights, order, views and noise
	From    string         // path of a model file whose weights training begins with; "": random ones

	// Labelled images for the accuracies on the card; nil: the test part of the known set that is trained on.
	Test *dataset.Dataset `json:"-"`
}

// Train returns a handle on a network that is trained on images with Gaussian noise, and kept as a model file at path.
// It is trained when it is first needed, with progress, and only once: an interrupted training goes on where it was.
// Errors, of the verb that needs it: those of train.Run, and a file at path of another recipe or data.
func Train(path string, data *dataset.Dataset, r Recipe) *Model {
	return &Model{path: path, engine: sync.OnceValues(func() (network, error) {
		if err := r.complete(data); err != nil {
			return nil, fmt.Errorf("model %s: %w", path, err)
		}
		if err := fit(listen.Context(), path, data, r); err != nil {
			return nil, err
		}
		return open(path)
	})}
}

// complete finds the images for testing where none are named.
func (r *Recipe) complete(data *dataset.Dataset) (err error) {
	if r.Test != nil {
		return nil
	}
	set, part, _ := strings.Cut(data.String(), "/")
	if strings.Contains(set, ":") || !strings.HasPrefix(part, "train") {
		return fmt.Errorf("Recipe.Test is missing: the images for the accuracies on the card; none are known to go "+
			"with %s", data)
	}
	r.Test, err = dataset.Open(set + "/test")
	return err
}
