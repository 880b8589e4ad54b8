// Package modelfile reads and writes trained networks: NAME.safetensors holds the weights,
// NAME.json beside it the card, which says what the network is and how it came to be.
package modelfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/table"
)

// formatVersion is the version of the card that is written and read.
const formatVersion = 1

// Card holds all that is known of a trained network besides its weights.
type Card struct {
	Format       int               `json:"format"`
	Architecture nets.Architecture `json:"architecture"`
	Parameters   int               `json:"parameters"`           // trained values, running averages left out
	Weights      string            `json:"weights"`              // "sha256:…" of the weights file
	Classes      []string          `json:"classes"`              // class names; index = label
	Source       *Source           `json:"source,omitempty"`     // nil for a network that certspec trained
	Adaptation   *Adaptation       `json:"adaptation,omitempty"` // nil for a network that is as training left it
	Pruning      *Pruning          `json:"pruning,omitempty"`    // nil for a network that was trained without
	Mixture      *Mixture          `json:"mixture,omitempty"`    // nil for a network that is not between two others

	Recipe    Recipe  `json:"recipe"`
	Train     Data    `json:"train"`
	Test      Data    `json:"test"`
	Accuracy  float64 `json:"accuracy"`       // on Test, as it is
	NoisyTest float64 `json:"noisy_accuracy"` // on Test, one noise sample per image at the σ of the recipe
	Loss      float64 `json:"loss"`           // mean cross-entropy over the last epoch of training, in nats

	Backend string  `json:"backend"`                   // engine, version, device, threads and instruction set
	Seconds float64 `json:"seconds"`                   // spent in training steps, interrupted runs included
	Waiting float64 `json:"waiting_seconds,omitempty"` // of which waiting for the next batch to be prepared
	Program string  `json:"program"`                   // version of certspec
	Command string  `json:"command"`                   // the command line
}

// Table is the card as a table for a reader.
func (c *Card) Table() *table.Table {
	t := table.New("", "")
	t.Add("architecture", fmt.Sprintf("%s for images of %v", c.Architecture.Name, c.Architecture.Shape))
	t.Add("parameters", printable.Count(c.Parameters))
	t.Add("classes", strings.Join(c.Classes, ", "))
	if c.Source != nil {
		t.Add("source", fmt.Sprintf("%s, %s", c.Source.Origin, c.Source.File))
	}
	if c.Train.Name != "" {
		t.Add("trained on", fmt.Sprintf("%s, %s images", c.Train.Name, printable.Count(c.Train.Images)))
		t.Add("recipe", fmt.Sprintf("noise of σ = %g, %d epochs, batches of %d, rate %g, seed %d", c.Recipe.Noise(),
			c.Recipe.Epochs, c.Recipe.BatchSize, c.Recipe.LearningRate, c.Recipe.Seed))
	}
	if c.Test.Name != "" {
		t.Add("accuracy", fmt.Sprintf("%.4f on %s, %s images", c.Accuracy, c.Test.Name,
			printable.Count(c.Test.Images)))
		t.Add("the same with noise", fmt.Sprintf("%.4f", c.NoisyTest))
	}
	if p := c.Pruning; p != nil {
		t.Add("pruned", fmt.Sprintf("%.1f %% of the weights", 100*p.Sparsity))
	}
	t.Add("weights", c.Weights)
	t.Add("made by", c.Command)
	return t
}

// imported is the origin of a network whose weights another program made.
const imported = "imported"

// Source says where the weights came from, where certspec did not make them.
type Source struct {
	Origin string `json:"origin"` // "imported"
	File   string `json:"file"`   // its name, without folders
	Digest string `json:"digest"` // "sha256:…" of the file
	// Table is the name under which a checkpoint has the weights, such as model_ema; empty where it has no tables.
	Table string `json:"table,omitempty"`
}

// Adaptation says how a trained network was adapted to other images, without their labels. The accuracies on the card
// are those before it.
type Adaptation struct {
	Method    string  `json:"method"` // "bn" or "tent"
	From      string  `json:"from"`   // "sha256:…" of the weights before
	Data      Data    `json:"data"`   // whose images it saw
	Sigma     float64 `json:"sigma"`
	Images    int     `json:"images"` // drawn from the data
	Steps     int     `json:"steps"`
	BatchSize int     `json:"batch_size"`
	Rate      float64 `json:"rate,omitempty"`     // of TENT
	Momentum  float64 `json:"momentum,omitempty"` // of TENT
	Seed      uint64  `json:"seed"`
}

// Mixture says between which weights a network lies; see package mix. It was not measured: its card has no accuracies.
type Mixture struct {
	From  string  `json:"from"`  // "sha256:…" of the weights for α = 0
	To    string  `json:"to"`    // and for α = 1
	Alpha float64 `json:"alpha"` // θ = (1 − α)·from + α·to
}

// Pruning says what a training with pruning left; see package prune.
type Pruning struct {
	Weights  int           `json:"weights"`          // that could be pruned
	Kept     int           `json:"kept"`             // those that are not zero
	Sparsity float64       `json:"sparsity"`         // 1 − kept/weights
	Start    float64       `json:"start,omitempty"`  // sparsity of the network that the training began with
	Rounds   []float64     `json:"rounds,omitempty"` // sparsities of the trainings of the run, one after the other
	Rewind   string        `json:"rewind,omitempty"` // "sha256:…" of the early weights beside the model file
	Layers   []PrunedLayer `json:"layers"`
}

// PrunedLayer is a tensor of weights that could be pruned.
type PrunedLayer struct {
	Name    string `json:"name"`
	Weights int    `json:"weights"`
	Kept    int    `json:"kept"`
}

// Data names a data set.
type Data struct {
	Name   string `json:"name"`
	Images int    `json:"images"`
	Digest string `json:"digest"` // of decoded pixels and labels
}

// Model is a network with its weights.
type Model struct {
	Card    Card
	Weights []Tensor // those of Card.Architecture.Tensors(), in that order
}

// NotFinite is the number of weights that are NaN or infinite. Such a network can be read,
// as its outputs are answered by misses, but whoever opens it should be told.
func (m *Model) NotFinite() int {
	n := 0
	for _, t := range m.Weights {
		for _, v := range t.Values {
			if v-v != 0 {
				n++
			}
		}
	}
	return n
}

// base is the path without the ending of one of the two files.
func base(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, ".json"), ".safetensors")
}

// WeightsPath and CardPath are the two files of the model at a path, which may be that of either or NAME alone.
func WeightsPath(path string) string { return base(path) + ".safetensors" }

// CardPath is described at WeightsPath.
func CardPath(path string) string { return base(path) + ".json" }

// Exists reports whether there is a card at the path.
func Exists(path string) bool {
	_, err := os.Stat(CardPath(path))
	return !errors.Is(err, fs.ErrNotExist)
}

// Write writes both files, each in one move, and fills in the card's format, parameters and
// digest. The card comes last, so that a model with a card is complete.
func Write(path string, m *Model) error {
	if _, err := arrange(m.Card.Architecture, m.Weights); err != nil {
		return fmt.Errorf("modelfile: %s: %w", path, err)
	}
	data, err := Encode(m.Weights, map[string]string{"architecture": m.Card.Architecture.Name})
	if err != nil {
		return err
	}
	m.Card.Format = formatVersion
	m.Card.Parameters = m.Card.Architecture.Parameters()
	m.Card.Weights = digest(data)
	card, err := json.MarshalIndent(m.Card, "", "  ")
	if err != nil {
		return fmt.Errorf("modelfile: %s: %w", path, err)
	}
	if err := atomicfile.Write(WeightsPath(path), data); err != nil {
		return fmt.Errorf("modelfile: %w", err)
	}
	if err := atomicfile.Write(CardPath(path), append(card, '\n')); err != nil {
		return fmt.Errorf("modelfile: %w", err)
	}
	return nil
}

// ReadCard reads the card alone.
func ReadCard(path string) (*Card, error) {
	data, err := textfile.Read(CardPath(path))
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	card, err := decodeCard(data)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %s: %w", CardPath(path), err)
	}
	return card, nil
}

func decodeCard(data []byte) (*Card, error) {
	card := &Card{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(card); err != nil {
		// A newer card may hold fields unknown here: its version says more than they do.
		var version struct{ Format int }
		if json.Unmarshal(data, &version) != nil || version.Format == formatVersion {
			return nil, fmt.Errorf("no card of a model: %w", err)
		}
		card.Format = version.Format
	}
	if card.Format != formatVersion {
		return nil, fmt.Errorf("card of format %d; this program reads format %d", card.Format, formatVersion)
	}
	if card.Source == nil {
		card.Recipe.Complete()
	}
	if err := card.Architecture.Check(); err != nil {
		return nil, err
	}
	if n := len(card.Classes); n != card.Architecture.Classes {
		return nil, fmt.Errorf("card names %d classes, its architecture has %d", n, card.Architecture.Classes)
	}
	return card, nil
}

// Read reads a model and checks the weights against the card, and against its architecture.
func Read(path string) (*Model, error) {
	card, err := ReadCard(path)
	if err != nil {
		return nil, err
	}
	file := WeightsPath(path)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	tensors, metadata, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %s: %w", file, err)
	}
	if name := metadata["architecture"]; name != "" && name != card.Architecture.Name {
		return nil, fmt.Errorf("modelfile: %s holds the weights of a %s, but its card says %s: one of the two was "+
			"changed", file, name, card.Architecture.Name)
	}
	if got := digest(data); got != card.Weights {
		return nil, fmt.Errorf("modelfile: %s has the digest %s, but its card says %s: one of the two was changed",
			file, got, card.Weights)
	}
	weights, err := arrange(card.Architecture, tensors)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %s: %w", file, err)
	}
	return &Model{Card: *card, Weights: weights}, nil
}

// arrange puts tensors into the order of the architecture, to which they must belong.
func arrange(a nets.Architecture, tensors []Tensor) ([]Tensor, error) {
	byName := make(map[string]Tensor, len(tensors))
	for _, t := range tensors {
		byName[t.Name] = t
	}
	var arranged []Tensor
	for _, want := range a.Tensors() {
		t, ok := byName[want.Name]
		if !ok {
			return nil, fmt.Errorf("tensor %q of a %s is missing", want.Name, a.Name)
		}
		if !slices.Equal(t.Shape, want.Shape) {
			return nil, fmt.Errorf("tensor %q is of shape %v; a %s for images of %v and %d classes has %v",
				t.Name, t.Shape, a.Name, a.Shape, a.Classes, want.Shape)
		}
		arranged = append(arranged, t)
		delete(byName, t.Name)
	}
	for name := range byName {
		return nil, fmt.Errorf("tensor %q is not one of a %s", name, a.Name)
	}
	return arranged, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
