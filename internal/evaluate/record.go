package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/spectral/jacobian"
	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

// RecordOptions say how the numbers of a record are measured.
type RecordOptions struct {
	Name   string
	Labels map[string]string

	Cells    []sweep.Cell // accuracies under corruptions, too
	Seed     uint64       // of the corruptions
	Accuracy string       // field of the accuracy without shift; default "id_acc"

	// of amplitude and phase paths; its normalization is that of pixel paths and of the Jacobian,
	// too
	Fourier spectral.FourierOptions
	// of amplitude and phase paths each; 0: as published, or half of the images where that is fewer
	Pairs int
	// of each class and of each two classes; 0: as published, or what the smallest class has
	PixelPairs int
	KeepLast   bool // see spectral.PathOptions

	Gradients      classifier.Differentiable // nil: central differences, and no bands
	GradientEngine string                    // what gives them, for the settings
	Projections    int                       // see jacobian.Options
	JacobianImages int                       // spread over the classes; default 400

	Batch    int    // images in one call; default 100
	Parts    string // file that keeps what is measured until all is; "": nothing is kept
	Progress progress.Reporter
}

type part struct {
	Percent    map[string]float64 `json:"percent,omitempty"`
	Images     map[string]int     `json:"images,omitempty"`
	Numbers    map[string]float64 `json:"numbers,omitempty"`
	Deviations map[string]float64 `json:"deviations,omitempty"`
	Counts     map[string]int     `json:"counts,omitempty"`
	Settings   map[string]any     `json:"settings,omitempty"`
}

// parts is the file of a record that is being made.
type parts struct {
	Of    map[string]any  `json:"of"` // settings, which must be those of the run that goes on
	Parts map[string]part `json:"parts"`
}

// Record measures a model: accuracies, the Jacobian norm with the bands of the gradient's energy,
// and HFF and CD along amplitude, phase and pixel paths, in the field names of RobustNets, with
// deviations, counts and settings. A run that was stopped goes on with the parts that are in its
// file, which is removed at the end.
//
// Errors: those of Run, spectral.PathSets, spectral.MeasurePaths and jacobian.Measure; a
// file of parts of another run.
func Record(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, o RecordOptions) (lines.Record,
	error) {
	r := recording{RecordOptions: o, model: model, data: data}
	if err := r.open(ctx); err != nil {
		return lines.Record{}, err
	}
	type step struct {
		name string
		do   func(context.Context) (part, error)
	}
	steps := []step{{"accuracy", r.accuracy}, {"jacobian", r.jacobian}}
	for _, kind := range spectral.PathKinds {
		steps = append(steps, step{string(kind), func(ctx context.Context) (part, error) { return r.paths(ctx, kind) }})
	}
	for _, s := range steps {
		if _, done := r.kept.Parts[s.name]; done {
			continue
		}
		p, err := s.do(ctx)
		if err != nil {
			return lines.Record{}, fmt.Errorf("evaluate: %s: %w", s.name, err)
		}
		r.kept.Parts[s.name] = p
		if err := r.keep(); err != nil {
			return lines.Record{}, err
		}
	}
	out := lines.Record{Model: r.Name, Labels: r.Labels, Percent: map[string]float64{}, Images: map[string]int{},
		Numbers:    map[string]float64{},
		Deviations: map[string]float64{}, Counts: map[string]int{}, Settings: r.kept.Of}
	for _, s := range steps {
		p := r.kept.Parts[s.name]
		merge(out.Percent, p.Percent)
		merge(out.Images, p.Images)
		merge(out.Numbers, p.Numbers)
		merge(out.Deviations, p.Deviations)
		merge(out.Counts, p.Counts)
		merge(out.Settings, p.Settings)
	}
	return out, nil
}

// Forget removes the file of parts, once the record is kept elsewhere.
func (o RecordOptions) Forget() error {
	if o.Parts == "" {
		return nil
	}
	if err := os.Remove(o.Parts); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("evaluate: %w", err)
	}
	return nil
}

func merge[V any](to, from map[string]V) {
	for k, v := range from {
		to[k] = v
	}
}

type recording struct {
	RecordOptions
	model  classifier.Classifier
	data   *dataset.Dataset
	images *imageset.Index
	kept   parts
}

// open fills in defaults, loads the images, and reads the parts that are there.
func (r *recording) open(ctx context.Context) (err error) {
	info, err := r.model.Info()
	if err != nil {
		return fmt.Errorf("evaluate: %w", err)
	}
	if r.images, err = r.data.Index(ctx, r.Progress); err != nil {
		return err
	}
	if r.Name == "" {
		r.Name = info.Name
	}
	if r.Accuracy == "" {
		r.Accuracy = "id_acc"
	}
	r.JacobianImages = cmp.Or(r.JacobianImages, 400)
	r.JacobianImages = min(r.JacobianImages, r.images.Len())
	of := map[string]any{
		"data": r.images.Name, "digest": r.images.Digest, "weights": info.Identity.Weights,
		"engine": info.Identity.Engine + " " + info.Identity.EngineVersion,
		"window": r.Fourier.Window, "mask": choose(r.Fourier.Radial, "radial", "square"),
		"wrap":     choose(r.Fourier.Shortest, "shortest", "none"),
		"last_bin": choose(r.KeepLast, "keep", "drop"), "points": r.Fourier.Points, "pairs": r.Pairs,
		"pixel_pairs": r.PixelPairs,
		"mean":        r.Fourier.Normalization.Mean, "std": r.Fourier.Normalization.Std, "corrupt_seed": r.Seed,
		"cells": len(r.Cells), "accuracy": r.Accuracy,
		"jacobian_projections": r.Projections, "jacobian_images": r.JacobianImages, "gradients": r.GradientEngine,
	}
	// As JSON has them, so that they compare with those of a file.
	text, err := json.Marshal(of)
	if err != nil {
		return fmt.Errorf("evaluate: %w", err)
	}
	r.kept = parts{Parts: map[string]part{}}
	if err := json.Unmarshal(text, &r.kept.Of); err != nil {
		return fmt.Errorf("evaluate: %w", err)
	}
	if r.Parts == "" {
		return nil
	}
	found, err := textfile.Read(r.Parts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("evaluate: %s: %w", r.Parts, err)
	}
	return r.join(found)
}

// join takes over the parts of a file, of this run or of another one at the same time.
func (r *recording) join(found []byte) error {
	var there parts
	if err := json.Unmarshal(found, &there); err != nil {
		return fmt.Errorf("evaluate: %s: %w", r.Parts, err)
	}
	for key, value := range r.kept.Of {
		have, _ := json.Marshal(there.Of[key])
		if want, _ := json.Marshal(value); !bytes.Equal(have, want) {
			return fmt.Errorf("evaluate: %s is of another run: %s is %s there and %s here; remove the file to begin "+
				"again", r.Parts, key, have, want)
		}
	}
	merge(r.kept.Parts, there.Parts)
	return nil
}

func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func (r *recording) keep() error {
	if r.Parts == "" {
		return nil
	}
	return journal.Update(r.Parts, func(old []byte) ([]byte, error) {
		if old != nil {
			if err := r.join(old); err != nil {
				return nil, err
			}
		}
		text, err := json.MarshalIndent(r.kept, "", "  ")
		return append(text, '\n'), err
	})
}

// accuracy is plain accuracy on the set, and the mean over the severities of each corruption.
func (r *recording) accuracy(ctx context.Context) (part, error) {
	p := part{Percent: map[string]float64{}, Images: map[string]int{}}
	cells, err := Run(ctx, r.model, r.data, Options{Cells: append([]sweep.Cell{{}}, r.Cells...), Seed: r.Seed,
		Batch: r.Batch, Name: r.Name, Progress: r.Progress})
	if err != nil {
		return p, err
	}
	right := map[string]int{}
	for _, c := range cells {
		field := c.Cell.Corruption
		if field == "" {
			field = r.Accuracy
		}
		right[field] += c.Right
		p.Images[field] += c.Images
	}
	for field, k := range right {
		p.Percent[field] = 100 * float64(k) / float64(p.Images[field])
	}
	r.mean(p)
	return p, nil
}

// mean adds RobustNets' mean over the fifteen corruptions of CIFAR-10-C, where all are there.
func (r *recording) mean(p part) {
	if r.Accuracy != "cifar10_acc" {
		return
	}
	sum, images := 0.0, 0
	names, _ := corrupt.Names([]string{string(corrupt.C)})
	for _, name := range names {
		if p.Images[name] == 0 {
			return
		}
		sum, images = sum+p.Percent[name], images+p.Images[name]
	}
	p.Percent["cifar10c_acc"], p.Images["cifar10c_acc"] = sum/float64(len(names)), images
}

// jacobian is the norm of the Jacobian and, where there are gradients, the bands of their energy.
func (r *recording) jacobian(ctx context.Context) (part, error) {
	images, err := r.data.Subset(dataset.Count(r.JacobianImages)).Load(ctx)
	if err != nil {
		return part{}, err
	}
	o := jacobian.Options{Projections: r.Projections, Std: r.Fourier.Normalization.Std, Seed: r.Seed,
		Progress: r.Progress}
	j, err := jacobian.Measure(ctx, r.model, r.Gradients, images, o)
	if err != nil {
		return part{}, err
	}
	p := part{Numbers: map[string]float64{"jacobian_norm": j.Norm}, Counts: map[string]int{"jacobian_norm": j.Images},
		Deviations: map[string]float64{},
		Settings:   map[string]any{"jacobian_mode": j.Mode, "jacobian_interval": j.Interval}}
	if r.Gradients == nil {
		return p, nil
	}
	g, err := jacobian.MeasureBands(ctx, r.model, r.Gradients, images, o)
	if err != nil {
		return part{}, err
	}
	for name, e := range map[string]spectral.Estimate{"gradient_low": g.Low, "gradient_mid": g.Middle,
		"gradient_high": g.High} {
		p.Numbers[name], p.Deviations[name], p.Counts[name] = e.Mean, e.Deviation, g.Images
	}
	return p, nil
}

// fields are the names of HFF and CD of a set of paths, as RobustNets has them; pixel paths have no CD.
var fields = map[string][2]string{
	"amplitude": {"high_freq_fracs_amp", "consistent_distances_amp"}, "phase": {"high_freq_fracs_phase",
		"consistent_distances_phase"},
	"pixel within": {"high_freq_fracs_within", ""}, "pixel between": {"high_freq_fracs_between", ""},
}

func (r *recording) paths(ctx context.Context, kind spectral.PathKind) (part, error) {
	p := part{Numbers: map[string]float64{}, Deviations: map[string]float64{}, Counts: map[string]int{},
		Settings: map[string]any{}}
	pairs := r.Pairs
	if kind == "pixel" {
		pairs = r.PixelPairs
	}
	sets, err := spectral.PathSets(kind, &r.images.Images, pairs, r.Fourier)
	if err != nil {
		return p, err
	}
	for _, s := range sets {
		m, err := s.Measure(ctx, r.model, r.images, spectral.PathOptions{Batch: r.Batch, KeepLast: r.KeepLast,
			Progress: r.Progress})
		if err != nil {
			return p, err
		}
		names := fields[s.Name]
		p.Numbers[names[0]], p.Deviations[names[0]], p.Counts[names[0]] = m.HFF.Mean, m.HFF.Deviation, m.Paths
		if m.CD != nil && names[1] != "" {
			p.Numbers[names[1]], p.Deviations[names[1]], p.Counts[names[1]] = m.CD.Mean, m.CD.Deviation, m.Paths
		}
		if left := m.Skipped + m.Missed; left > 0 {
			p.Settings[s.Name+" left out"] = left
		}
	}
	return p, nil
}
