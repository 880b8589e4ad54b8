//go:build unix

// Package remote is a network that the process of the kernel holds, as engine.Model is one that the own process holds.
package remote

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/listen"
	"github.com/certspec/certspec/internal/model/resident"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// Model is a network in the process. It is safe for concurrent use.
type Model struct {
	handle *resident.Handle
	open   resident.Question
	report progress.Reporter
}

// Open opens the network at path; inputs are the values of model.Input, at most one.
func Open(ctx context.Context, path string, inputs any, report progress.Reporter) (*Model, error) {
	text, err := json.Marshal(inputs)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", path, err)
	}
	m := &Model{open: resident.Question{Kind: resident.Open, Path: path, Input: text}, report: report}
	if m.handle, err = resident.OpenHandle(ctx, m.open, report); err != nil {
		return nil, err
	}
	return m, nil
}

// Train trains the network of a recipe, a model.Recipe, whose method has options.
func Train(ctx context.Context, path string, data, test *dataset.Dataset, recipe any, options map[string]any,
	report progress.Reporter) error {
	q := resident.Question{Kind: resident.Train, Path: path, Command: listen.Command()}
	for i, d := range []*dataset.Dataset{data, test} {
		images, err := d.Load(ctx)
		if err != nil {
			return err
		}
		q.Sets[i] = resident.Set{Name: d.String(), Digest: images.Digest}
	}
	var err error
	if q.Input, err = json.Marshal(recipe); err != nil {
		return fmt.Errorf("model %s: %w", path, err)
	}
	var text bytes.Buffer // JSON has one kind of numbers
	if err := gob.NewEncoder(&text).Encode(options); err != nil {
		return fmt.Errorf("model %s: Recipe.Options: %w", path, err)
	}
	return resident.Ask(ctx, q, report, nil, text.Bytes())
}

// Card is the model's card in the file, nil for an ONNX file.
func (m *Model) Card() *modelfile.Card { return m.handle.Opened().Card }

// Trained are the sets that the network says it was trained on.
func (m *Model) Trained() []ledger.Data { return m.handle.Opened().Trained }

// Info describes the network on the engine of the process.
func (m *Model) Info() (classifier.Info, error) { return m.handle.Info(context.Background()) }

// FormerIdentities are those that earlier versions gave the network.
func (m *Model) FormerIdentities() ([]classifier.Identity, error) {
	return ask[[]classifier.Identity](m, resident.Former)
}

// Preprocessing says what is done to images before the network.
func (m *Model) Preprocessing() (string, error) { return ask[string](m, resident.Preprocessing) }

// ClassNames are what the network calls its classes, or nil.
func (m *Model) ClassNames() ([]string, error) { return ask[[]string](m, resident.ClassNames) }

func ask[T any](m *Model, kind string) (value T, err error) {
	_, err = m.handle.Ask(context.Background(), resident.Question{Kind: kind}, nil, &value)
	return value, err
}

// Classify implements classifier.Classifier.
func (m *Model) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	info, err := m.handle.Info(ctx)
	if err != nil {
		return err
	}
	if err := classifier.Check(info, batch, result); err != nil {
		return err
	}
	images := resident.Bytes(batch.Real)
	if batch.Grid != nil {
		images = resident.Bytes(batch.Grid)
	}
	into, n := [][]byte{resident.Bytes(result.Classes[:batch.N])}, batch.N*info.Classes
	if result.Scores != nil {
		into = append(into, resident.Bytes(result.Scores[:n]))
	}
	if result.Logits != nil {
		into = append(into, resident.Bytes(result.Logits[:n]))
	}
	_, err = m.handle.Ask(ctx, resident.Question{Kind: resident.Classify, N: batch.N, Grid: batch.Grid != nil,
		Scores: result.Scores != nil, Logits: result.Logits != nil}, [][]byte{images}, nil, into...)
	return err
}

// FeedForward is the network as layers, which the process has compared.
func (m *Model) FeedForward(ctx context.Context) (*feedforward.Network, error) {
	var file resident.File
	data, err := m.handle.Ask(ctx, resident.Question{Kind: resident.Layers}, nil, &file)
	if err != nil {
		return nil, err
	}
	graph, err := onnxfile.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.open.Path, err)
	}
	n, err := feedforward.FromONNX(file.Name, graph, file.Images)
	if err != nil || file.Compared == feedforward.NotCompared {
		return n, err
	}
	return n.AsCompared(file.Compared), nil
}

// Gradients gives the gradients of the logits, as engine.Model has them.
func (m *Model) Gradients(ctx context.Context) (g classifier.Differentiable, how string, end func() error, err error) {
	q := m.open
	q.Kind = resident.Gradients
	h, err := resident.OpenHandle(ctx, q, m.report)
	if err != nil {
		return nil, "", nil, err
	}
	if h.Opened().Files != m.handle.Opened().Files {
		return nil, "", nil, fmt.Errorf("%s was replaced by another network since the cell opened it: run the cell again",
			q.Path)
	}
	return gradients{h}, h.Opened().How, h.Close, nil
}

// Close lets the network go.
func (m *Model) Close() error { return m.handle.Close() }

type gradients struct{ handle *resident.Handle }

// VectorJacobian implements classifier.Differentiable.
func (g gradients) VectorJacobian(ctx context.Context, images, v, gradient []float32) error {
	info, err := g.handle.Info(ctx)
	if err != nil {
		return err
	}
	n := len(v) / info.Classes
	if n == 0 || len(v) != n*info.Classes || len(images) != n*info.Shape.Len() || len(gradient) != len(images) {
		return fmt.Errorf("%s: %d values of images, %d of directions and %d of gradients; expected N×%v, N×%d and N×%v",
			info.Name, len(images), len(v), len(gradient), info.Shape, info.Classes, info.Shape)
	}
	_, err = g.handle.Ask(ctx, resident.Question{Kind: resident.VectorJacobian, N: n},
		[][]byte{resident.Bytes(images), resident.Bytes(v)}, nil, resident.Bytes(gradient))
	return err
}
