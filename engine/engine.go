// Package engine opens a trained model by its file, on the best engine of this machine: a network that
// certspec trained, or any other from an ONNX file, on ONNX Runtime, XLA or GoMLX's Go backend. On the last
// two an ONNX file runs by its layers.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/progress"
)

// Option changes how a model is opened.
type Option func(*Model)

// Backend orders an engine instead of the one that Chosen names: "xla", "go" or another
// choice of backend.Open, ONNXRuntime or OpenVINO.
func Backend(choice string) Option { return func(m *Model) { m.choice = choice } }

// Progress reports what takes long before a model answers: the comparison of layers.
func Progress(report progress.Reporter) Option { return func(m *Model) { m.report = report } }

// Model is a lazy handle on a model file: Open reads its card alone, the first question
// about its identity opens the engine, and the first batch reads the weights. It is a
// classifier.Classifier, safe for concurrent use.
type Model struct {
	path   string
	choice string
	onnx   onnx.Options
	card   *modelfile.Card // nil for an ONNX file
	report progress.Reporter

	mu        sync.Mutex
	network   network // nil until it is needed
	passed    string  // why ONNX Runtime was not taken, where it would have been
	notFinite int     // weights
}

// network is a model on an engine.
type network interface {
	classifier.Classifier
	Close() error
}

// whole reports whether the file is an integer network.
func (m *Model) whole() bool { return intnet.IsName(m.path) }

// Open finds the model at path, which names an ONNX file or an integer network (.intnet) by its ending, or else the
// weights, the card, or both without an ending ("models/fmnist-cnn-s025"). It reads the card
// and looks for the weights; it takes milliseconds.
func Open(path string, options ...Option) (*Model, error) {
	if path == "" {
		return nil, fmt.Errorf("engine: no model named; expected the path of one, such as models/fmnist-cnn-s025")
	}
	m := &Model{path: path}
	for _, option := range options {
		option(m)
	}
	if strings.HasPrefix(m.choice, OpenVINO) && !m.whole() { // it takes the place of ONNX Runtime
		if m.onnx.Provider == "cuda" {
			return nil, fmt.Errorf("engine: %s: the provider cuda is for %s; the engine is %s", path, ONNXRuntime, m.choice)
		}
		m.onnx.Provider, m.choice = m.choice, ONNXRuntime
	}
	if onnxfile.IsName(path) {
		return m.openFile()
	}
	if m.whole() {
		var err error
		if m.network, err = m.openIntegers(); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		return m, nil
	}
	card, weights := modelfile.CardPath(path), modelfile.WeightsPath(path)
	for _, file := range []string{card, weights} {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && path != card && path != weights {
				return nil, otherForm(path)
			}
			return nil, fmt.Errorf("engine: no model at %s: looked for %s and %s; certspec train --out %s makes "+
				"them (%w: %s)",
				path, card, weights, strings.TrimSuffix(card, ".json"), fs.ErrNotExist, filepath.Base(file))
		}
	}
	var err error
	if m.card, err = modelfile.ReadCard(path); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return m, nil
}

// otherForm is the error of a file that is there, in a form that is not read.
func otherForm(path string) error {
	switch ending := strings.ToLower(filepath.Ext(path)); ending {
	case ".onnxtxt", ".textproto", ".pbtxt":
		return fmt.Errorf("engine: %s: ONNX as text is not read; expected an .onnx file, which Python writes of it: "+
			"onnx.save(onnx.load(%q), \"net.onnx\")", path, path)
	default:
		return fmt.Errorf("engine: %s: a file of a form that is not read (%s); expected .onnx, .intnet, or a model of "+
			"certspec train, .safetensors with a .json beside it", path, cmp.Or(ending, "no ending"))
	}
}

func (m *Model) engine() (*backend.Backend, error) {
	b, err := backend.Open(m.choice)
	if errors.Is(err, backend.ErrUnknown) {
		err = fmt.Errorf("%w, %s or %s", err, ONNXRuntime, OpenVINO)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return b, nil
}

// load reads the weights and prepares the network, once.
func (m *Model) load() (network, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.network != nil {
		return m.network, nil
	}
	n, err := m.read()
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	m.network = n
	return n, nil
}

func (m *Model) read() (network, error) {
	if m.whole() {
		return m.openIntegers()
	}
	if m.byLayers() {
		return m.openLayers()
	}
	if m.card == nil {
		return onnx.Open(m.path, m.onnx)
	}
	file, err := modelfile.Read(m.path)
	if err != nil {
		return nil, err
	}
	if file.Card.Weights != m.card.Weights {
		return nil, fmt.Errorf("%s was replaced by another model since it was opened; open it again", m.path)
	}
	m.notFinite = file.NotFinite()
	if m.onONNXRuntime() {
		n, err := m.exported(file)
		if err == nil || !isOpen(m.choice) {
			return n, err
		}
		m.passed = fmt.Sprintf("ONNX Runtime is not used: %v", err)
	} else if isOpen(m.choice) && os.Getenv(onnx.Variable) != "" {
		if _, err := onnx.Library(""); err != nil {
			m.passed = fmt.Sprintf("ONNX Runtime is not used: %v", err)
		}
	}
	b, err := m.engine()
	if err != nil {
		return nil, err
	}
	n, err := infer.Load(b, m.name(), file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return n, nil
}

func (m *Model) name() string {
	if m.whole() {
		return filepath.Base(m.path)
	}
	return filepath.Base(strings.TrimSuffix(modelfile.CardPath(m.path), ".json"))
}

// Card of the model file, nil for an ONNX file. It must not be changed.
func (m *Model) Card() *modelfile.Card { return m.card }

// Info describes the model. It opens the engine, as that is part of the identity; of an ONNX file and on
// ONNX Runtime it reads the weights, too.
func (m *Model) Info() (classifier.Info, error) {
	if m.card == nil || m.onONNXRuntime() {
		n, err := m.load()
		if err != nil {
			return classifier.Info{}, err
		}
		return n.Info()
	}
	b, err := m.engine()
	if err != nil {
		return classifier.Info{}, fmt.Errorf("engine: %w", err)
	}
	info := infer.Describe(m.name(), m.card)
	infer.Identify(&info.Identity, b)
	return info, nil
}

// Classify evaluates a batch; see infer.Network.
func (m *Model) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	n, err := m.load()
	if err != nil {
		return err
	}
	return n.Classify(ctx, batch, result)
}

// Preprocessing says what an image in [0, 1] goes through before the network, or the graph of an ONNX file, gets it.
func (m *Model) Preprocessing() (string, error) {
	if m.card != nil {
		switch input := m.card.Architecture.Input; input {
		case "", "none":
			return "none: the network gets values 0 to 1", nil
		case "center":
			return "the input layer \"center\" subtracts the channel means of CIFAR-10", nil
		case "standardize":
			return "the input layer \"standardize\" normalises by the statistics of CIFAR-10", nil
		case "imagenet":
			return "the input layer \"imagenet\" normalises by the statistics of ImageNet", nil
		default:
			return fmt.Sprintf("the input layer %q of the network", input), nil
		}
	}
	if m.whole() {
		return "none: the network takes whole numbers of 1/255; others are rounded to them", nil
	}
	details, err := m.File()
	if err != nil {
		return "", err
	}
	return details.Preprocessing(), nil
}

// Warnings for a user before long work, in sentences: a better engine
// that could not be used, what was assumed of an ONNX file, weights that are not finite. It
// reads the weights.
func (m *Model) Warnings() ([]string, error) {
	n, err := m.load()
	if err != nil {
		return nil, err
	}
	note, err := m.note(n)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	var warnings []string
	if note != "" {
		warnings = append(warnings, note)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.passed != "" {
		warnings = append(warnings, m.passed)
	}
	if m.notFinite > 0 {
		warnings = append(warnings, fmt.Sprintf("%s has %d weights that are NaN or infinite; answers may be misses",
			m.path, m.notFinite))
	}
	return warnings, nil
}

func (m *Model) note(n network) (string, error) {
	switch n := n.(type) {
	case exported:
		return "", nil
	case *integerNetwork:
		return n.String(), nil
	case onnxFile:
		details, err := n.Details()
		if err != nil {
			return "", err
		}
		return details.String(), nil
	}
	b, err := m.engine()
	if err != nil {
		return "", err
	}
	return b.Note, nil
}

// Close frees what the model holds in memory and on the device; a later batch reads the
// weights again. No call may be running.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.network
	m.network = nil
	if n == nil {
		return nil
	}
	return n.Close()
}
