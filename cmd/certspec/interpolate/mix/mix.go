// Package mix interpolates between the weights of two networks: θ_α = (1 − α)·θ₀ + α·θ₁, every
// tensor, as between a model and what it became by fine-tuning (Wortsman et al. 2022, arXiv
// 2109.01903). Files are read of three kinds: model files with their cards, safetensors files, and
// ONNX files of one graph.
//
// For α = 0 and α = 1 the file itself is written, byte for byte. In between, values are computed in
// float64 and rounded to their type; where both networks agree, their value stays. All tensors of a
// safetensors file become float32.
package mix

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/atomicfile"
)

// Pair is two files of one kind that fit each other.
type Pair struct {
	from, to string
	kind     string
	model    [2]*modelfile.Model
	tensors  [2][]modelfile.Tensor
	metadata map[string]string
	onnx     *graphs
}

// The kinds of files, by their endings.
const (
	modelKind       = ".json"
	safetensorsKind = ".safetensors"
	onnxKind        = ".onnx"
)

// Open reads two files. A path without an ending, or one with a card beside it, is a model file.
//
// Errors: files of two kinds; tensors of other names, shapes or types, which are named; graphs that
// differ in more than values; values that are not finite.
func Open(from, to string) (*Pair, error) {
	p := &Pair{from: from, to: to, kind: kindOf(from)}
	for _, path := range []string{from, to} {
		if !slices.Contains([]string{modelKind, safetensorsKind, onnxKind}, kindOf(path)) {
			return nil, fmt.Errorf("mix: %s: expected a model file of certspec, a file that ends in %s, or one that "+
				"ends in %s", path, safetensorsKind, onnxKind)
		}
	}
	if other := kindOf(to); other != p.kind {
		return nil, fmt.Errorf("mix: %s and %s are files of two kinds; expected two of one kind", from, to)
	}
	var err error
	switch p.kind {
	case modelKind:
		err = p.openModels()
	case safetensorsKind:
		err = p.openSafetensors()
	case onnxKind:
		p.onnx, err = openGraphs(from, to)
	}
	return p, err
}

func kindOf(path string) string {
	ending := strings.ToLower(filepath.Ext(path))
	if ending == onnxKind {
		return ending
	}
	if modelfile.Exists(path) {
		return modelKind
	}
	if ending == safetensorsKind {
		return ending
	}
	return ending
}

func (p *Pair) openModels() (err error) {
	for i, path := range []string{p.from, p.to} {
		if p.model[i], err = modelfile.Read(path); err != nil {
			return err
		}
		if n := p.model[i].NotFinite(); n > 0 {
			return fmt.Errorf("mix: %s has %d weights that are not finite", path, n)
		}
	}
	a, b := p.model[0].Card, p.model[1].Card
	if a.Architecture != b.Architecture || !slices.Equal(a.Classes, b.Classes) {
		return fmt.Errorf("mix: %s has the network %s for images of %v, input layer %q, width %v, %d classes, and "+
			"%s has %s for %v, %q, %v, %d; expected one architecture and the same classes",
			p.from, a.Architecture.Name, a.Architecture.Shape, a.Architecture.Input, a.Architecture.Width,
			len(a.Classes),
			p.to, b.Architecture.Name, b.Architecture.Shape, b.Architecture.Input, b.Architecture.Width, len(b.Classes))
	}
	return nil
}

func (p *Pair) openSafetensors() error {
	var types [2]map[string]string
	for i, path := range []string{p.from, p.to} {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("mix: %w", err)
		}
		list, metadata, err := modelfile.DecodeAny(data)
		if err != nil {
			return fmt.Errorf("mix: %s: %w", path, err)
		}
		types[i] = modelfile.Types(data)
		slices.SortFunc(list, func(a, b modelfile.Tensor) int { return strings.Compare(a.Name, b.Name) })
		for _, t := range list {
			if at := slices.IndexFunc(t.Values, func(v float32) bool { return v-v != 0 }); at >= 0 {
				return fmt.Errorf("mix: %s: value %d of tensor %q is %v; expected finite values", path, at, t.Name,
					t.Values[at])
			}
		}
		if p.tensors[i] = list; i == 0 {
			p.metadata = metadata
		}
	}
	a, b := p.tensors[0], p.tensors[1]
	for _, one := range []struct {
		has, lacks    []modelfile.Tensor
		with, without string
	}{{a, b, p.from, p.to}, {b, a, p.to, p.from}} {
		for _, t := range one.has {
			if !slices.ContainsFunc(one.lacks, func(o modelfile.Tensor) bool { return o.Name == t.Name }) {
				return fmt.Errorf("mix: tensor %q of %s is not in %s", t.Name, one.with, one.without)
			}
		}
	}
	for i, t := range a {
		if !slices.Equal(t.Shape, b[i].Shape) {
			return fmt.Errorf("mix: tensor %q is of shape %v in %s and %v in %s", t.Name, t.Shape, p.from, b[i].Shape,
				p.to)
		}
		if x, y := types[0][t.Name], types[1][t.Name]; x != y {
			return fmt.Errorf("mix: tensor %q is of type %s in %s and %s in %s", t.Name, x, p.from, y, p.to)
		}
	}
	return nil
}

// Ending of the files of the pair: ".onnx", ".safetensors", or empty for model files, which are two files each.
func (p *Pair) Ending() string {
	if p.kind == modelKind {
		return ""
	}
	return p.kind
}

// Model is the network between, of model files; its card names both and α. What it says of training
// is that of neither, but for a noise that they have in common. It is nil for other kinds.
func (p *Pair) Model(alpha float64) (*modelfile.Model, error) {
	if err := check(alpha); err != nil || p.kind != modelKind {
		return nil, err
	}
	a, b := p.model[0], p.model[1]
	sigma := a.Card.Recipe.Noise()
	if b.Card.Recipe.Noise() != sigma {
		sigma = 0
	}
	m := &modelfile.Model{Card: modelfile.Card{
		Architecture: a.Card.Architecture, Classes: a.Card.Classes, Recipe: modelfile.Unknown(sigma),
		Train:   a.Card.Train,
		Mixture: &modelfile.Mixture{From: a.Card.Weights, To: b.Card.Weights, Alpha: alpha},
	}}
	for i, t := range a.Weights {
		t.Values = between(t.Values, b.Weights[i].Values, alpha)
		m.Weights = append(m.Weights, t)
	}
	return m, nil
}

// Write writes the network between, to a path without the ending.
func (p *Pair) Write(path string, alpha float64) error {
	if err := check(alpha); err != nil {
		return err
	}
	if alpha == 0 || alpha == 1 {
		return p.copy(path, map[float64]string{0: p.from, 1: p.to}[alpha])
	}
	switch p.kind {
	case modelKind:
		m, err := p.Model(alpha)
		if err != nil {
			return err
		}
		return modelfile.Write(path, m)
	case safetensorsKind:
		var list []modelfile.Tensor
		for i, t := range p.tensors[0] {
			t.Values = between(t.Values, p.tensors[1][i].Values, alpha)
			list = append(list, t)
		}
		data, err := modelfile.Encode(list, p.metadata)
		if err != nil {
			return fmt.Errorf("mix: %w", err)
		}
		return atomicfile.Write(path+p.Ending(), data)
	}
	data, err := p.onnx.between(alpha)
	if err != nil {
		return fmt.Errorf("mix: %w", err)
	}
	return atomicfile.Write(path+p.Ending(), data)
}

// copy writes the files of an end. Of a model file the card comes last.
func (p *Pair) copy(path, from string) error {
	files := map[string]string{from: path + p.Ending()}
	if p.kind == modelKind {
		files = map[string]string{modelfile.WeightsPath(from): modelfile.WeightsPath(path),
			modelfile.CardPath(from): modelfile.CardPath(path)}
	}
	for _, from := range slices.Backward(slices.Sorted(maps.Keys(files))) {
		data, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("mix: %w", err)
		}
		if err := atomicfile.Write(files[from], data); err != nil {
			return fmt.Errorf("mix: %w", err)
		}
	}
	return nil
}

func check(alpha float64) error {
	if !(alpha >= 0 && alpha <= 1) {
		return fmt.Errorf("mix: α = %v; expected 0 to 1", alpha)
	}
	return nil
}

func between(a, b []float32, alpha float64) []float32 {
	out := make([]float32, len(a))
	for i := range a {
		out[i] = float32(value(float64(a[i]), float64(b[i]), alpha))
	}
	return out
}

func value(a, b, alpha float64) float64 {
	if a == b {
		return a
	}
	return float64((1-alpha)*a) + float64(alpha*b)
}
