package train

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
)

type identity struct {
	Architecture nets.Architecture
	Recipe       modelfile.Recipe
	Classes      []string
	Train, Test  modelfile.Data
	Backend      string `json:",omitempty"`
}

// plan is a checked run with its data.
type plan struct {
	options Options
	run     identity
	parts
	needs         method.Needs
	net           network
	tensors       []nets.Tensor
	start         []modelfile.Tensor // weights to begin with; nil for random ones
	startCard     modelfile.Card     // of their model
	images, test  *pictureSet
	more          []further
	soft          [][]float32 // by images; nil: labels
	checkpoint    string
	stepsPerEpoch int
	steps         int
	phases        []phase
	pruning       *pruning // nil without
}

func (o Options) plan(ctx context.Context) (*plan, error) {
	if o.Train == nil || o.Test == nil {
		return nil, fmt.Errorf("train: no data set to train or to test on")
	}
	if o.Out == "" {
		return nil, fmt.Errorf("train: no path for the model file")
	}
	o.Out = strings.TrimSuffix(modelfile.CardPath(o.Out), ".json")
	recipe, made, err := o.recipe()
	if err != nil {
		return nil, err
	}
	images, err := openPictures(ctx, o.Train, o.Progress)
	if err != nil {
		return nil, err
	}
	test, err := openPictures(ctx, o.Test, o.Progress)
	if err != nil {
		return nil, err
	}
	architecture := nets.Architecture{Name: recipe.Network, Shape: images.Shape, Classes: len(images.Classes),
		Input: recipe.Input, Width: recipe.Width, Bias: recipe.Bias}
	needs := made.method.Needs()
	architecture.Posterior, architecture.Shift, architecture.Denoiser = needs.Posterior, needs.Shift, needs.Denoiser
	if err := architecture.Check(); err != nil {
		return nil, fmt.Errorf("train: %s: %w", images.Name, err)
	}
	if test.Shape != images.Shape || !slices.Equal(test.Classes, images.Classes) {
		return nil, fmt.Errorf("train: %s has images of %v in %d classes, but %s has %v in %d: they must agree",
			test.Name, test.Shape, len(test.Classes), images.Name, images.Shape, len(images.Classes))
	}
	for _, set := range []*pictureSet{images, test} {
		for i, label := range set.Labels {
			if label < 0 || label >= len(set.Classes) {
				return nil, fmt.Errorf("train: image %d of %s has the label %d; expected 0 to %d", set.IDs[i], set.Name,
					label, len(set.Classes)-1)
			}
		}
	}
	if test.Len() == 0 {
		return nil, fmt.Errorf("train: %s is empty", test.Name)
	}
	if recipe.BatchSize > images.Len() {
		return nil, fmt.Errorf("train: batches of %d images, but %s has %d", recipe.BatchSize, images.Name,
			images.Len())
	}
	p := &plan{
		options: o,
		run: identity{
			Architecture: architecture,
			Recipe:       recipe,
			Classes:      images.Classes,
			Train:        modelfile.Data{Name: images.Name, Images: images.Len(), Digest: images.Digest},
			Test:         modelfile.Data{Name: test.Name, Images: test.Len(), Digest: test.Digest},
		},
		parts:         made,
		needs:         needs,
		net:           netgraph.Network{Architecture: architecture},
		tensors:       architecture.Tensors(),
		images:        images,
		test:          test,
		checkpoint:    o.Checkpoint,
		stepsPerEpoch: images.Len() / recipe.BatchSize,
	}
	if err := p.loadMore(ctx); err != nil {
		return nil, err
	}
	if err := p.loadSoft(); err != nil {
		return nil, err
	}
	if o.From != "" {
		if err := p.startFrom(o.From); err != nil {
			return nil, err
		}
	}
	if err := p.planPhases(); err != nil {
		return nil, err
	}
	if p.checkpoint == "" {
		p.checkpoint = o.Out + ".checkpoint"
	}
	return p, nil
}

// startFrom takes the weights of a model of the same architecture and classes; a denoiser may be new.
func (p *plan) startFrom(path string) error {
	model, err := modelfile.Read(path)
	if err != nil {
		return fmt.Errorf("train: the model to start from: %w", err)
	}
	c := model.Card
	there, here := c.Architecture, p.run.Architecture
	there.Input, here.Input = orDefault(there.Input, "none"), orDefault(here.Input, "none")
	behind := p.needs.Denoiser > 0 && there.Denoiser == 0
	if behind {
		there.Denoiser = here.Denoiser
	}
	if there != here || !slices.Equal(c.Classes, p.run.Classes) {
		return fmt.Errorf("train: the model to start from, %s, is a %s for images of %v in %d classes with input "+
			"layer %s; this run trains a %s for %v in %d with %s",
			modelfile.CardPath(path), there.Name, there.Shape, len(c.Classes), there.Input, here.Name, here.Shape,
			len(p.run.Classes), here.Input)
	}
	if n := model.NotFinite(); n > 0 {
		return fmt.Errorf("train: the model to start from, %s, has %d weights that are not finite",
			modelfile.CardPath(path), n)
	}
	p.start, p.startCard, p.run.Recipe.Start = model.Weights, c, c.Weights
	if behind {
		p.start = nil
		for _, t := range p.tensors {
			of := modelfile.Tensor{Name: t.Name, Shape: t.Shape}
			if i := slices.IndexFunc(model.Weights, func(w modelfile.Tensor) bool { return w.Name == t.Name }); i >= 0 {
				of = model.Weights[i]
			} else {
				of.Values = t.Initialize(p.run.Recipe.Seed)
			}
			p.start = append(p.start, of)
		}
	}
	return nil
}

// assigns reports whether the loss needs what the adversary ends with, also where its budget is 0.
func (p *plan) assigns() bool {
	a := p.needs.Adversary
	if a == nil {
		return false
	}
	_, ok := a.Driver().(attack.Assigner)
	return ok
}

// clock is the clock of a step's phase: schedules begin anew with each.
func (p *plan) clock(step int) schedule.Clock {
	_, now := p.phaseAt(step)
	return schedule.Clock{Step: step - now.first, Steps: now.steps, StepsPerEpoch: p.stepsPerEpoch}
}

// rate is the learning rate of a step, counted from 0.
func (p *plan) rate(step int) float64 {
	_, now := p.phaseAt(step)
	c := p.clock(step)
	if c.Epoch() < p.run.Recipe.WarmUp {
		return now.Rate / 10
	}
	return p.schedule.Rate(now.Rate, c)
}

// sigma is the deviation of the noise in a step, and budget the adversary's.
func (p *plan) sigma(step int) float64  { return p.ramps[sigmaRamp].At(p.clock(step)) }
func (p *plan) noise(step int) gaussian { return p.noiseOf(p.sigma(step)) }
func (p *plan) budget(step int) float64 { return p.ramps[epsilonRamp].At(p.clock(step)) }

// finished returns the card of a model that is already there, if it is this run's.
func (p *plan) finished(path string) (*modelfile.Card, error) {
	model, err := modelfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("train: there is a model at the path, which cannot be read: %w", err)
	}
	c := model.Card
	there := identity{Architecture: c.Architecture, Recipe: c.Recipe, Classes: c.Classes, Train: c.Train, Test: c.Test}
	if d := difference(there, p.run); d != "" {
		return nil, fmt.Errorf("train: %s is the model of another run: %s; choose another path, or remove it",
			modelfile.CardPath(path), d)
	}
	return &c, nil
}

// difference says in words in which fields two runs differ.
func difference(there, here identity) string {
	var found []string
	var compare func(name string, a, b any)
	compare = func(name string, a, b any) {
		left, okLeft := a.(map[string]any)
		right, okRight := b.(map[string]any)
		if !okLeft || !okRight {
			x, y := compact(a), compact(b)
			if x != y {
				found = append(found, fmt.Sprintf("%s is %s there and %s here", name, x, y))
			}
			return
		}
		keys := make(map[string]bool)
		for k := range left {
			keys[k] = true
		}
		for k := range right {
			keys[k] = true
		}
		for k := range keys {
			compare(strings.ToLower(strings.TrimPrefix(name+"."+k, ".")), left[k], right[k])
		}
	}
	compare("", fields(there), fields(here))
	slices.Sort(found)
	return strings.Join(found, ", ")
}

func fields(id identity) map[string]any {
	var m map[string]any
	decoder := json.NewDecoder(strings.NewReader(compact(id)))
	decoder.UseNumber() // a seed may need all 64 bits
	if err := decoder.Decode(&m); err != nil {
		panic("train: " + err.Error()) // a struct of plain fields
	}
	return m
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("train: " + err.Error()) // plain values
	}
	return string(text)
}
