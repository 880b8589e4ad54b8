package engine

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
)

// Choices of Backend for ONNX Runtime and OpenVINO on the CPU. Behind OpenVINO may stand ",precision=" and f32 (the
// default), bf16 or f16.
const (
	ONNXRuntime = "onnxruntime"
	OpenVINO    = "openvino"
)

// ONNX says how to open an ONNX file; for a model file, which says itself how images enter, only the
// library, its threads and its provider count.
func ONNX(options onnx.Options) Option { return func(m *Model) { m.onnx = options } }

func (m *Model) onONNXRuntime() bool {
	if m.card == nil {
		return isOpen(m.choice) || m.choice == ONNXRuntime
	}
	return takesONNXRuntime(m.choice, m.onnx.Library)
}

// openFile checks what can be checked of an ONNX file without loading it.
func (m *Model) openFile() (*Model, error) {
	if m.byLayers() && (m.onnx.KeepBatch || m.onnx.Provider == "cuda") {
		return nil, fmt.Errorf("engine: %s: a fixed batch and the provider cuda are for %s; the engine is %s",
			m.path, ONNXRuntime, m.choice)
	}
	if _, err := onnx.Open(m.path, m.onnx); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return m, nil
}

// exported is a network of ours in the form of ONNX, with the identity of its model file.
type exported struct {
	*onnx.Model
	file *modelfile.Card
}

func (m *Model) exported(file *modelfile.Model) (network, error) {
	data, err := export.Encode(file)
	if err != nil {
		return nil, fmt.Errorf("%s cannot run on ONNX Runtime: %w", m.path, err)
	}
	n, err := onnx.FromBytes(m.name(), data, onnx.Options{Library: m.onnx.Library, Threads: m.onnx.Threads,
		Provider: m.onnx.Provider})
	if err != nil {
		return nil, err
	}
	if _, err := n.Info(); err != nil { // the library is loaded here
		return nil, err
	}
	return exported{n, &file.Card}, nil
}

// Info names the weights of the model file; the graph made of them belongs to the engine.
func (n exported) Info() (classifier.Info, error) {
	info, err := n.Model.Info()
	if err != nil {
		return info, err
	}
	info.Identity = withGraph(info.Identity, infer.Weights(n.file))
	return info, nil
}

// withGraph gives an identity the weights of a model file, in the place of the digest of the graph that was made of it.
func withGraph(id classifier.Identity, weights string) classifier.Identity {
	graph := strings.TrimPrefix(id.Weights, "sha256:")
	id.EngineVersion += ", graph " + graph[:16]
	id.Weights = weights
	return id
}

// FormerIdentities are the identities in ledgers of the versions 1 and 2, for a replay of them. The identity
// named the weights alone, without what is done to images before them, and on ONNX Runtime a digest of the
// exported file, which holds the card: as it is, and as it was before cards named a method of training.
func (m *Model) FormerIdentities() ([]classifier.Identity, error) {
	n, err := m.load()
	if err != nil {
		return nil, err
	}
	if m.whole() || m.byLayers() { // ledgers of those versions are older
		return nil, nil
	}
	if m.card == nil {
		return n.(interface {
			FormerIdentities() ([]classifier.Identity, error)
		}).FormerIdentities()
	}
	info, err := m.Info()
	if err != nil {
		return nil, err
	}
	id := info.Identity
	id.Weights = m.card.Weights
	e, ok := n.(exported)
	if !ok {
		return []classifier.Identity{id}, nil
	}
	if info, err = e.Model.Info(); err != nil {
		return nil, err
	}
	file, err := modelfile.Read(m.path)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	var list []classifier.Identity
	for _, recipe := range []modelfile.Recipe{file.Card.Recipe, file.Card.Recipe.Incomplete()} {
		file.Card.Recipe = recipe
		data, err := export.Encode(file)
		if err != nil {
			return nil, fmt.Errorf("engine: %s: %w", m.path, err)
		}
		id := info.Identity
		id.Weights = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
		list = append(list, withGraph(id, m.card.Weights))
	}
	return list, nil
}
