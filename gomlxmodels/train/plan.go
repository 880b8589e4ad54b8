package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
)

// Schedules of the learning rate.
const (
	Cosine = "cosine"
	Step   = "step"
)

// identity is what the weights depend on.
type identity struct {
	Architecture nets.Architecture
	Recipe       modelfile.Recipe
	Classes      []string
	Train, Test  modelfile.Data
	Backend      string `json:",omitempty"`
}

// plan is a checked run with its data.
type plan struct {
	options       Options
	run           identity
	method        method.Method
	needs         method.Needs
	net           network
	tensors       []nets.Tensor
	start         []modelfile.Tensor // weights to begin with; nil for random ones
	images, test  *dataset.Images
	checkpoint    string
	stepsPerEpoch int
	steps         int
}

func (o Options) plan(ctx context.Context) (*plan, error) {
	if o.Train == nil || o.Test == nil {
		return nil, fmt.Errorf("train: no data set to train or to test on")
	}
	if o.Out == "" {
		return nil, fmt.Errorf("train: no path for the model file")
	}
	o.Out = strings.TrimSuffix(modelfile.CardPath(o.Out), ".json")
	o = o.withDefaults()
	recipe, err := o.recipe()
	if err != nil {
		return nil, err
	}
	images, err := o.Train.Load(ctx)
	if err != nil {
		return nil, err
	}
	test, err := o.Test.Load(ctx)
	if err != nil {
		return nil, err
	}
	architecture := o.architecture(images)
	if err := architecture.Check(); err != nil {
		return nil, fmt.Errorf("train: %s: %w", images.Name, err)
	}
	if test.Shape != images.Shape || !slices.Equal(test.Classes, images.Classes) {
		return nil, fmt.Errorf("train: %s has images of %v in %d classes, but %s has %v in %d: they must agree",
			test.Name, test.Shape, len(test.Classes), images.Name, images.Shape, len(images.Classes))
	}
	for _, set := range []*dataset.Images{images, test} {
		for i, label := range set.Labels {
			if label < 0 || label >= len(set.Classes) {
				return nil, fmt.Errorf("train: image %d of %s has the label %d; expected 0 to %d", set.IDs[i], set.Name, label, len(set.Classes)-1)
			}
		}
	}
	if test.Len() == 0 {
		return nil, fmt.Errorf("train: %s is empty", test.Name)
	}
	if recipe.BatchSize > images.Len() {
		return nil, fmt.Errorf("train: batches of %d images, but %s has %d", recipe.BatchSize, images.Name, images.Len())
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
		method:        o.Method,
		needs:         o.Method.Needs(),
		net:           architecture,
		tensors:       architecture.Tensors(),
		images:        images,
		test:          test,
		checkpoint:    o.Checkpoint,
		stepsPerEpoch: images.Len() / recipe.BatchSize,
	}
	p.steps = p.stepsPerEpoch * recipe.Epochs
	if o.Start != "" {
		if err := p.startFrom(o.Start); err != nil {
			return nil, err
		}
	}
	if p.checkpoint == "" {
		p.checkpoint = o.Out + ".checkpoint"
	}
	return p, nil
}

func (o Options) withDefaults() Options {
	o.Net, o.Input = orDefault(o.Net, nets.SmallCNN), orDefault(o.Input, nets.InputNone)
	if o.Method == nil {
		o.Method = method.Gaussian{Share: method.All}
	}
	return o
}

// Check says what is wrong with options, as far as that shows without images, paths and engine: names that are unknown, values out of
// range, a method without the views that it takes.
func (o Options) Check() error {
	o = o.withDefaults()
	if err := nets.CheckName(o.Net, o.Input); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	_, err := o.recipe()
	return err
}

// recipe fills in the defaults and checks the values.
func (o Options) recipe() (modelfile.Recipe, error) {
	r := modelfile.Recipe{
		Method:       o.Method.Name(),
		Sigma:        o.Sigma,
		SigmaWarmUp:  o.SigmaWarmUp,
		Epochs:       orDefault(o.Epochs, 10),
		BatchSize:    orDefault(o.BatchSize, 128),
		LearningRate: orDefault(o.LearningRate, 0.1),
		Schedule:     orDefault(o.Schedule, Cosine),
		Milestones:   o.Milestones,
		WarmUp:       o.WarmUp,
		Momentum:     max(orDefault(o.Momentum, 0.9), 0),
		Nesterov:     o.Nesterov,
		WeightDecay:  max(orDefault(o.WeightDecay, 1e-4), 0),
		Augment:      orDefault(o.Augment, NoneAug),
		Seed:         o.Seed,
	}
	bad := func(format string, args ...any) (modelfile.Recipe, error) {
		return r, fmt.Errorf("train: "+format, args...)
	}
	if err := method.Check(o.Method); err != nil {
		return bad("%w", err)
	}
	var err error
	if r.Options, err = method.Options(o.Method); err != nil {
		return bad("%w", err)
	}
	if o.Views != nil {
		r.Views = o.Views.String()
	}
	if o.ViewsBy != ViewsByHost {
		r.ViewsBy = o.ViewsBy
	}
	views := o.Method.Needs().Views
	switch {
	case views > 1 && o.Views == nil:
		return bad("the method %s takes %d views of an image, but there is no augmentation to make them", r.Method, views)
	case r.ViewsBy != "" && r.ViewsBy != ViewsByGraph:
		return bad("no maker of views %q; there are %s and %s", r.ViewsBy, ViewsByHost, ViewsByGraph)
	case r.ViewsBy == ViewsByGraph && !isFourierMix(o.Views):
		return bad("the graph makes views by fouriermix alone, not by %q", r.Views)
	case !(r.Sigma >= 0) || math.IsInf(r.Sigma, 0):
		return bad("σ = %v; expected 0 or more", r.Sigma)
	case r.Epochs < 1:
		return bad("%d epochs; expected at least 1", r.Epochs)
	case r.BatchSize < 2:
		return bad("batches of %d images; batch normalisation needs at least 2", r.BatchSize)
	case !(r.LearningRate > 0) || math.IsInf(r.LearningRate, 0):
		return bad("learning rate %v; expected more than 0", r.LearningRate)
	case !(r.Momentum < 1):
		return bad("momentum %v; expected less than 1", r.Momentum)
	case !(r.WeightDecay < 1):
		return bad("weight decay %v; expected less than 1", r.WeightDecay)
	case r.WarmUp < 0 || r.WarmUp > r.Epochs:
		return bad("%d epochs of warm-up in a run of %d", r.WarmUp, r.Epochs)
	case !slices.Contains(Augmentations(), r.Augment):
		return bad("no augmentation %q; there are %s", r.Augment, strings.Join(Augmentations(), ", "))
	case r.SigmaWarmUp < 0 || r.SigmaWarmUp > r.Epochs:
		return bad("%d epochs in which σ grows, in a run of %d", r.SigmaWarmUp, r.Epochs)
	}
	switch r.Schedule {
	case Cosine:
		if len(r.Milestones) > 0 {
			return bad("milestones are for the schedule %q, not %q", Step, Cosine)
		}
	case Step:
		if len(r.Milestones) == 0 {
			r.Milestones = []int{r.Epochs / 2, r.Epochs * 3 / 4}
		}
		if !slices.IsSorted(r.Milestones) || r.Milestones[0] < 0 {
			return bad("milestones %v; expected epochs in ascending order", r.Milestones)
		}
	default:
		return bad("no schedule %q; there are %s and %s", r.Schedule, Cosine, Step)
	}
	return r, nil
}

// startFrom takes the weights of a model of the same architecture and classes.
func (p *plan) startFrom(path string) error {
	model, err := modelfile.Read(path)
	if err != nil {
		return fmt.Errorf("train: the model to start from: %w", err)
	}
	c := model.Card
	there, here := c.Architecture, p.run.Architecture
	there.Input, here.Input = orDefault(there.Input, nets.InputNone), orDefault(here.Input, nets.InputNone)
	if there != here || !slices.Equal(c.Classes, p.run.Classes) {
		return fmt.Errorf("train: the model to start from, %s, is a %s for images of %v in %d classes with input layer %s; this run trains a %s for %v in %d with %s",
			modelfile.CardPath(path), there.Name, there.Shape, len(c.Classes), there.Input, here.Name, here.Shape, len(p.run.Classes), here.Input)
	}
	if n := model.NotFinite(); n > 0 {
		return fmt.Errorf("train: the model to start from, %s, has %d weights that are not finite", modelfile.CardPath(path), n)
	}
	p.start, p.run.Recipe.Start = model.Weights, c.Weights
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

func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// rate is the learning rate of a step, counted from 0.
func (p *plan) rate(step int) float64 {
	r := p.run.Recipe
	rate := r.LearningRate
	epoch := step / p.stepsPerEpoch
	if epoch < r.WarmUp {
		return rate / 10
	}
	switch r.Schedule {
	case Cosine:
		rate *= (1 + math.Cos(math.Pi*float64(step)/float64(p.steps))) / 2
	case Step:
		for _, milestone := range r.Milestones {
			if epoch >= milestone {
				rate /= 10
			}
		}
	}
	return rate
}

// finished returns the card of a model that is already there, if it is this run's.
func (p *plan) finished(path string) (*modelfile.Card, error) {
	model, err := modelfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("train: there is a model at the path, which cannot be read: %w", err)
	}
	c := model.Card
	there := identity{Architecture: c.Architecture, Recipe: c.Recipe, Classes: c.Classes, Train: c.Train, Test: c.Test}
	if d := difference(there, p.run); d != "" {
		return nil, fmt.Errorf("train: %s is the model of another run: %s; choose another path, or remove it", modelfile.CardPath(path), d)
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
