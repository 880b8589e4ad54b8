package lines

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/lines/classfile"
	"github.com/certspec/certspec/internal/textfile"
)

// Predictions are a model's classes for the images of a set, in the set's order.
type Predictions struct {
	Model   string
	Classes []int // −1: no class, as an output was not finite
	Card    *PredictionCard
}

// PredictionCard says which model answered to which images. It lies beside MODEL.npy as MODEL.json.
type PredictionCard struct {
	Model   string `json:"model"`
	Weights string `json:"weights,omitempty"`
	Engine  string `json:"engine,omitempty"`
	Data    string `json:"data"`   // with the corruption
	Digest  string `json:"digest"` // of decoded pixels and labels, before the corruption
	// of the images, ascending, with commas between; three or more at equal distances as
	// first:end:step, the end left out
	IDs    string `json:"ids"`
	Right  int    `json:"right"`
	Images int    `json:"images"` // with a label
	// labels that are groups of the model's classes, of which the largest logit was taken; 0:
	// labels are classes
	Groups int `json:"groups,omitempty"`
}

// ReadPredictions reads a folder of predictions. For each model it holds a file MODEL.npy, whole numbers in one
// dimension, with its card MODEL.json if there is one. As in CIFAR-10.1, it may hold a file MODEL.json with a list of
// classes instead. A folder that holds only folders with numbers for names, the severities of a corruption, has the
// predictions of all, one after the other.
//
// Errors: no predictions, a file of another form, cards that name other models or images than their neighbours'.
func ReadPredictions(folder string) ([]Predictions, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	var severities []string
	files := map[string]string{}
	for _, e := range entries {
		name := e.Name()
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		switch _, err := strconv.Atoi(name); {
		case e.IsDir() && err == nil:
			severities = append(severities, name)
		case name == classfile.Labels:
		case filepath.Ext(name) == ".npy", filepath.Ext(name) == ".json" && files[stem] == "":
			files[stem] = filepath.Join(folder, name)
		}
	}
	if len(files) == 0 && len(severities) > 0 {
		return pooled(folder, severities)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("lines: %s: no predictions; expected a file MODEL.npy for each model", folder)
	}
	var all []Predictions
	for _, model := range slices.Sorted(maps.Keys(files)) {
		p := Predictions{Model: model}
		if p.Classes, err = classfile.Read(files[model]); err != nil {
			return nil, err
		}
		if filepath.Ext(files[model]) == ".npy" {
			if p.Card, err = ReadPredictionCard(filepath.Join(folder, model+".json")); err != nil {
				return nil, err
			}
		}
		if err := p.sameAs(all, folder); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// sameAs refuses predictions of other images than those before.
func (p Predictions) sameAs(all []Predictions, folder string) error {
	for _, other := range all {
		switch {
		case len(other.Classes) != len(p.Classes):
			return fmt.Errorf("lines: %s: %s has %d predictions, and %s %d", folder, other.Model, len(other.Classes),
				p.Model, len(p.Classes))
		case other.Card != nil && p.Card != nil && (other.Card.Digest != p.Card.Digest || other.Card.IDs != p.Card.IDs):
			return fmt.Errorf("lines: %s: %s saw the images %s of %s (%s), and %s the images %s of %s (%s)", folder,
				other.Model, other.Card.ids(), other.Card.Data, other.Card.Digest, p.Model, p.Card.ids(), p.Card.Data,
				p.Card.Digest)
		}
	}
	return nil
}

// sameImages refuses predictions under a shift that are of other images than those without it, as far as cards tell.
func sameImages(id, shifted []Predictions) error {
	for i, p := range id {
		a, b := p.Card, shifted[i].Card
		if a != nil && b != nil && (a.Digest != b.Digest || a.IDs != b.IDs) {
			return fmt.Errorf("lines: %s saw the images %s of %s (%s) without the shift, and %s of %s (%s) under "+
				"it, which are said to be the same",
				p.Model, a.ids(), a.Data, a.Digest, b.ids(), b.Data, b.Digest)
		}
	}
	return nil
}

// ids of the card, cut for a message.
func (c *PredictionCard) ids() string {
	const most = 40
	if len(c.IDs) <= most {
		return c.IDs
	}
	return c.IDs[:strings.LastIndex(c.IDs[:most], ",")+1] + "…"
}

func pooled(folder string, severities []string) (all []Predictions, err error) {
	for k, name := range severities {
		part, err := ReadPredictions(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if k == 0 {
			all = part
			continue
		}
		if len(part) != len(all) {
			return nil, fmt.Errorf("lines: %s has predictions of %d models, and %s of %d",
				filepath.Join(folder, severities[0]), len(all), filepath.Join(folder, name), len(part))
		}
		for i, p := range part {
			if p.Model != all[i].Model {
				return nil, fmt.Errorf("lines: %s: predictions of %s, but in %s there are none",
					filepath.Join(folder, name), p.Model, severities[0])
			}
			all[i].Classes = append(all[i].Classes, p.Classes...)
		}
	}
	return all, nil
}

// ReadPredictionCard reads a card; nil: there is none.
func ReadPredictionCard(path string) (*PredictionCard, error) {
	text, err := textfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	card := &PredictionCard{}
	if err := json.Unmarshal(text, card); err != nil {
		return nil, &FieldError{File: path, Reason: "no card of predictions: " + err.Error()}
	}
	return card, nil
}

// Write writes the predictions to FOLDER/MODEL.npy and their card, the card first: predictions are whole where
// MODEL.npy is.
func (p Predictions) Write(folder string) error {
	card, err := json.MarshalIndent(p.Card, "", "  ")
	if err != nil {
		return fmt.Errorf("lines: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(folder, p.Model+".json"), append(card, '\n')); err != nil {
		return err
	}
	return classfile.Write(filepath.Join(folder, p.Model+".npy"), p.Classes)
}

// Match puts the predictions under a shift into the order of those without it, and drops none: every model must be on
// both sides.
func Match(id, shifted []Predictions) ([]Predictions, error) {
	var names []string
	for _, p := range shifted {
		names = append(names, p.Model)
	}
	out := make([]Predictions, len(id))
	for i, p := range id {
		k := slices.Index(names, p.Model)
		if k < 0 {
			return nil, unknown("model under the shift", p.Model, names)
		}
		out[i] = shifted[k]
	}
	if len(shifted) != len(id) {
		return nil, fmt.Errorf("lines: predictions of %d models without the shift and of %d under it", len(id),
			len(shifted))
	}
	return out, nil
}
