package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/evaluate"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

// runners do the jobs of measures, by their names, and leave their results in the folder, whole or
// not at all.
var runners = map[string]func(*Runner, context.Context, plan.Job) error{
	"radius": (*Runner).certify, "calibration": (*Runner).certifyConfidences, "ace": (*Runner).attackConfidences,
	"agreement": (*Runner).agree, recipe.HeatMapKey: (*Runner).heatMap, "evaluate": (*Runner).evaluate,
	"bound": (*Runner).bound, "attack": (*Runner).attack, "record": (*Runner).record,
}

func (r *Runner) agree(ctx context.Context, j plan.Job) error {
	for _, m := range append([]*recipe.Model{j.Model}, j.With...) {
		if p, err := store.ReadPredictions(r.Result(m, store.PredictionsFile)); p != nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		p, err := r.predict(ctx, m)
		if err != nil {
			return err
		}
		if err := store.Keep(r.Result(m, store.PredictionsFile), p.Encode()); err != nil {
			return err
		}
	}
	return nil
}

// predict asks a model about the clean images.
func (r *Runner) predict(ctx context.Context, m *recipe.Model) (*store.Predictions, error) {
	model, err := r.Open(ctx, m)
	if err != nil {
		return nil, err
	}
	images, err := r.Load(ctx, r.Images(m, "agreement"))
	if err != nil {
		return nil, err
	}
	p := &store.Predictions{Images: images.IDs, Labels: images.Labels}
	const most = 100
	size := min(most, images.Len())
	result := classifier.Result{Classes: make([]int32, size)}
	for start := 0; start < images.Len(); start += size {
		var grid []int16
		for k := range size { // the last batch repeats its last image
			grid = append(grid, images.Grid(min(start+k, images.Len()-1))...)
		}
		if err := model.Classify(ctx, classifier.Batch{N: size, Grid: grid}, &result); err != nil {
			return nil, err
		}
		for k := range min(size, images.Len()-start) {
			p.Classes = append(p.Classes, int(result.Classes[k]))
		}
	}
	return p, nil
}

func (r *Runner) evaluate(ctx context.Context, j plan.Job) error {
	e := j.Measure.(*recipe.Evaluation)
	cells, err := e.Cells(r.Manifest.Tier)
	if err != nil {
		return err
	}
	model, err := r.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	data, err := r.Set(r.Images(j.Model, "evaluate"))
	if err != nil {
		return err
	}
	done, err := evaluate.Run(ctx, model, data, evaluate.Options{Cells: cells, Name: j.Model.Slug(),
		Folder: filepath.Join(r.Folder, "predictions"), Progress: r.progress})
	if err != nil {
		return err
	}
	var found []store.Evaluated
	for _, c := range done {
		name := cmp.Or(c.Cell.Corruption, c.Cell.String())
		k := slices.IndexFunc(found, func(o store.Evaluated) bool { return o.Set == name })
		if k < 0 {
			k = len(found)
			found = append(found, store.Evaluated{Set: name})
		}
		found[k].Right, found[k].Images = found[k].Right+c.Right, found[k].Images+c.Images
	}
	return store.KeepJSON(r.Result(j.Model, store.EvaluateFile), found)
}

func (r *Runner) heatMap(ctx context.Context, j plan.Job) error {
	m := j.Measure.(*recipe.HeatMap)
	name := recipe.Select(j.Model.Test, m.Images)
	images, err := r.Set(name)
	if err != nil {
		return err
	}
	model, err := r.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	o := m.Options(r.Manifest.Tier, j.Model)
	if ctx, err = r.look(ctx, model, name, o.Run); err != nil {
		return err
	}
	o.Folder, o.Progress = filepath.Join(r.Folder, "ledgers", j.Model.Slug(), recipe.HeatMapKey), r.progress
	found, err := heatmap.Run(ctx, model, images, o)
	if err != nil {
		return err
	}
	return store.KeepJSON(r.Result(j.Model, store.HeatMapFile), found)
}

// further is the accuracy on a further set.
func (r *Runner) further(ctx context.Context, model *engine.Model, j plan.Job,
	set recipe.RecordSet) (right,
	images int, err error) {
	data, err := r.Set(set.Images)
	if err != nil {
		return 0, 0, err
	}
	loaded, err := data.Load(ctx)
	if err != nil {
		return 0, 0, err
	}
	o := evaluate.Options{Cells: []sweep.Cell{{}}, Progress: r.progress}
	if set.Groups != "" {
		o.Groups, err = evaluate.ReadGroups(set.Groups, loaded.Classes)
	} else if file := r.Manifest.Places[j.Model.Data+recipe.ClassesSuffix]; file != "" {
		o.Groups, err = evaluate.ReadFolders(file, loaded.Classes)
	}
	if err != nil {
		return 0, 0, err
	}
	cells, err := evaluate.Run(ctx, model, data, o)
	if err != nil {
		return 0, 0, err
	}
	return cells[0].Right, cells[0].Images, nil
}

func (r *Runner) record(ctx context.Context, j plan.Job) error {
	m := j.Measure.(*recipe.Record)
	model, err := r.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	data, err := r.Set(r.Images(j.Model, "record"))
	if err != nil {
		return err
	}
	t := r.Manifest.Tier
	o := evaluate.RecordOptions{
		Name: j.Model.Name, Labels: j.Model.Labels(), Seed: 0, Pairs: t.Record.Pairs, PixelPairs: t.Record.PixelPairs,
		JacobianImages: t.Record.JacobianImages,
		Fourier:        spectral.FourierOptions{Points: 100, Window: 0.2}, Parts: r.Result(j.Model, store.RecordFile) +
			".parts", Progress: r.progress,
	}
	if recipe.CIFAROf(j.Model.Data) == "cifar10" {
		o.Accuracy, o.Fourier.Normalization = "cifar10_acc", spectral.CIFAR10
	}
	if o.Cells, err = m.Cells(t); err != nil {
		return err
	}
	gradients, how, end, err := model.Gradients(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil { // else central differences, as the record says
		defer end()
		o.Gradients, o.GradientEngine = gradients, how
	}
	if o.Accuracy == "" && len(m.Sets) > 0 {
		o.Accuracy = idField(j.Model.Data)
	}
	record, err := evaluate.Record(ctx, model, data, o)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(m.Placed)) {
		right, images, err := r.further(ctx, model, j, m.Placed[field])
		if err != nil {
			return fmt.Errorf("experiment: %s: %w", field, err)
		}
		record.Percent[field], record.Images[field] = 100*float64(right)/float64(images), images
	}
	if err := lines.PutRecord(filepath.Join(r.Folder, store.RecordsFile), record); err != nil {
		return err
	}
	line, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if err := store.Keep(r.Result(j.Model, store.RecordFile), append(line, '\n')); err != nil {
		return err
	}
	return o.Forget()
}

// idField is the field of accuracy without shift: "val" of ImageNet, as the ImageNet testbed has it.
func idField(data string) string {
	if data == "imagenet" {
		return "val"
	}
	return ""
}
