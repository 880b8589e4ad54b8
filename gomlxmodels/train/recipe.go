package train

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/optimizer"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/internal/choice"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
	"github.com/certspec/certspec/rs/noise"
)

// Defaults are what a recipe that says nothing stands for.
func Defaults() modelfile.Recipe {
	return modelfile.Recipe{
		Network: "small-cnn", Input: "none", Method: "gaussian", ViewsBy: viewsByHost,
		Optimizer: "sgd", Sigma: new(0.0), Epochs: 10, BatchSize: 128, LearningRate: 0.1,
		Schedule: "cosine", Momentum: new(0.9), WeightDecay: new(1e-4), Augment: noneAug,
	}
}

// Names of ramps that every method has: of the noise's σ, and of the budget of an adversary.
const (
	sigmaRamp   = "sigma"
	epsilonRamp = "epsilon"
)

// parts are what a recipe names.
type parts struct {
	method    method.Method
	views     augment.Augmentation // nil for none
	optimizer optimizer.Optimizer
	schedule  schedule.Schedule
	pruner    prune.Method // nil for none
	// σ's, the budget's, the method's own, and those of the recipe by the names of the loss's terms
	ramps   map[string]schedule.Ramp
	numbers []string // the names of those that the graph takes, in order
	grey    float64  // standard deviation of a grey mode of the noise, in units of σ; 0 for none
}

// Recipe returns the part of the options that stands on the card of a model, without what the run finds out: the
// digests of the start, of soft labels and of further sets.
func (o Options) Recipe() (r modelfile.Recipe) {
	flat.Copy(&r, o)
	r.Soft = ""
	return r
}

// SetRecipe sets that part, as to train again by the recipe of a card. A start, soft labels and further sets are an
// error: a card has their digests, and options take their paths and data.
func (o *Options) SetRecipe(r modelfile.Recipe) error {
	if r.Start != "" || r.Soft != "" || len(r.Sets) > 0 {
		return errors.New("train: the recipe says what the run is to find out: the digests of the start, of soft " +
			"labels and of further sets; a start is given by its path")
	}
	r.Soft = o.Soft
	flat.Copy(o, r)
	return nil
}

// Check reports faults of options that show without images, paths and engine: unknown names, values out of range, a
// method without the views that it takes.
func (o Options) Check() error {
	_, _, err := o.recipe()
	return err
}

// recipe fills in the defaults, checks the values, and makes what they name.
func (o Options) recipe() (r modelfile.Recipe, p parts, err error) {
	r = o.Recipe()
	d := Defaults()
	r.Network, r.Input = orDefault(r.Network, d.Network), orDefault(r.Input, d.Input)
	r.Epochs, r.BatchSize, r.LearningRate = orDefault(r.Epochs, d.Epochs), orDefault(r.BatchSize, d.BatchSize),
		orDefault(r.LearningRate, d.LearningRate)
	r.Sigma, r.Augment = orDefault(r.Sigma, d.Sigma), orDefault(r.Augment, d.Augment)
	if r.ViewsBy == viewsByHost {
		r.ViewsBy = ""
	}
	if r.Initial == "own" {
		r.Initial = ""
	}
	bad := func(format string, args ...any) (modelfile.Recipe, parts, error) {
		return r, p, fmt.Errorf("train: "+format, args...)
	}
	if err := nets.CheckName(r.Network, r.Input); err != nil {
		return bad("%w", err)
	}
	if err := p.makeMethod(&r, o.Own); err != nil {
		return bad("%w", err)
	}
	if err := p.makeOptimizer(&r, o.Own, d); err != nil {
		return bad("%w", err)
	}
	needs := p.method.Needs()
	sigma := *r.Sigma
	switch {
	case r.Initial != "" && !slices.Contains(nets.Initials(), r.Initial):
		return bad("no initialisation %q; there are %s", r.Initial, choice.List(nets.Initials()))
	case r.Initial != "" && o.From != "":
		return bad("the initialisation %q is of random weights, and this run begins with those of %s", r.Initial,
			o.From)
	case needs.Denoiser > 0 && (o.From == "" || r.Prune != ""):
		return bad("the method %s trains a denoiser in front of a network that stays as it is: it needs the model "+
			"file of that network as the start, and no pruning", r.Method)
	case needs.Views > 1 && p.views == nil:
		return bad("the method %s takes %d views of an image, but there is no augmentation to make them", r.Method,
			needs.Views)
	case r.ViewsBy != "" && r.ViewsBy != viewsByGraph:
		return bad("no maker of views %q; there are %s and %s", r.ViewsBy, viewsByHost, viewsByGraph)
	case r.ViewsBy == viewsByGraph && !isFourierMix(p.views):
		return bad("the graph makes views by fouriermix alone, not by %q", r.Views)
	case r.ViewsBy == viewsByGraph && framingOf(r.Augment).resized && framingOf(r.Augment).each:
		return bad("the graph makes no views with %q; expected views by %q", r.Augment, viewsByHost)
	case !(sigma >= 0) || math.IsInf(sigma, 0):
		return bad("σ = %v; expected 0 or more", sigma)
	case r.Epochs < 1:
		return bad("%d epochs; expected at least 1", r.Epochs)
	case r.BatchSize < 2:
		return bad("batches of %d images; batch normalisation needs at least 2", r.BatchSize)
	case !(r.LearningRate > 0) || math.IsInf(r.LearningRate, 0):
		return bad("learning rate %v; expected more than 0", r.LearningRate)
	case r.WarmUp < 0 || r.WarmUp > r.Epochs:
		return bad("%d epochs of warm-up in a run of %d", r.WarmUp, r.Epochs)
	case !slices.Contains(Augmentations(), r.Augment):
		return bad("no augmentation %q; there are %s", r.Augment, choice.List(Augmentations()))
	case r.SigmaWarmUp < 0 || r.SigmaWarmUp > r.Epochs:
		return bad("%d epochs in which σ grows, in a run of %d", r.SigmaWarmUp, r.Epochs)
	}
	if err := p.makeNoise(&r); err != nil {
		return bad("%w", err)
	}
	if err := p.makeSchedule(&r, o.Own); err != nil {
		return bad("%w", err)
	}
	if err := p.makeRamps(&r, needs); err != nil {
		return bad("%w", err)
	}
	if err := p.makePruning(&r, o.From != ""); err != nil {
		return bad("%w", err)
	}
	return r, p, nil
}

func (p *parts) makeMethod(r *modelfile.Recipe, own Own) (err error) {
	if p.method = own.Method; p.method == nil {
		if p.method, err = method.With(r.Method, r.Options); err != nil {
			return err
		}
	} else if err := method.Check(p.method); err != nil {
		return err
	}
	r.Method = p.method.Name()
	if r.Options, err = method.Options(p.method); err != nil {
		return err
	}
	if p.views = own.Views; p.views == nil && r.Views != "" {
		p.views, err = augment.Parse(r.Views)
	} else if p.views != nil {
		r.Views = p.views.String()
	}
	return err
}

// makeOptimizer leaves SGD without a name, as cards had it before there were others.
func (p *parts) makeOptimizer(r *modelfile.Recipe, own Own, d modelfile.Recipe) (err error) {
	if p.optimizer = own.Optimizer; p.optimizer == nil {
		if p.optimizer, err = optimizer.With(r.Optimizer, r.OptimizerOptions); err != nil {
			return err
		}
		switch of := p.optimizer.(type) {
		case optimizer.SGD:
			of.Momentum, of.Nesterov, of.WeightDecay = *orDefault(r.Momentum, d.Momentum), r.Nesterov,
				*orDefault(r.WeightDecay, d.WeightDecay)
			p.optimizer = of
		case optimizer.Adam:
			of.WeightDecay = *orDefault(r.WeightDecay, new(0.0))
			p.optimizer = of
		}
	}
	if err := optimizer.Check(p.optimizer); err != nil {
		return err
	}
	if of, ok := p.optimizer.(optimizer.SGD); ok {
		r.Optimizer, r.OptimizerOptions = "", nil
		r.Momentum, r.Nesterov, r.WeightDecay = &of.Momentum, of.Nesterov, &of.WeightDecay
		return nil
	}
	r.Optimizer = p.optimizer.Name()
	if r.Momentum != nil || r.Nesterov {
		return fmt.Errorf("momentum and its form of Nesterov are settings of %s, not of %s", "sgd",
			r.Optimizer)
	}
	if of, ok := p.optimizer.(optimizer.Adam); ok {
		r.WeightDecay = &of.WeightDecay
	} else if r.WeightDecay != nil {
		return fmt.Errorf("weight_decay is a setting of %s and adam; %s has its own options", "sgd",
			r.Optimizer)
	}
	r.OptimizerOptions, err = choice.Options("optimizer", p.optimizer)
	return err
}

func (p *parts) makeSchedule(r *modelfile.Recipe, own Own) (err error) {
	if p.schedule = own.Schedule; p.schedule == nil {
		if p.schedule, err = schedule.With(r.Schedule, r.ScheduleOptions); err != nil {
			return err
		}
	}
	r.Schedule = p.schedule.Name()
	steps, isSteps := p.schedule.(schedule.Steps)
	if isSteps && own.Schedule == nil {
		if steps.Milestones = r.Milestones; len(steps.Milestones) == 0 {
			if steps.By == "step" {
				return fmt.Errorf("the schedule %q by step has no milestones", steps.Name())
			}
			steps.Milestones = []int{r.Epochs / 2, r.Epochs * 3 / 4}
		}
		p.schedule = steps
	} else if !isSteps && len(r.Milestones) > 0 {
		return fmt.Errorf("milestones are for the schedule %q, not %q", schedule.Steps{}.Name(), r.Schedule)
	}
	if err := schedule.Check(p.schedule); err != nil {
		return err
	}
	if isSteps {
		r.Milestones = steps.Milestones
	}
	// The options stand on a card where they are not the defaults, of which earlier cards know nothing.
	standard, err := schedule.With(r.Schedule, nil)
	if err != nil { // one's own
		r.ScheduleOptions, err = choice.Options("schedule", p.schedule)
		return err
	}
	here, err := choice.Options("schedule", p.schedule)
	if err != nil {
		return err
	}
	usual, err := choice.Options("schedule", standard)
	if err != nil {
		return err
	}
	r.ScheduleOptions = here
	if maps.Equal(here, usual) {
		r.ScheduleOptions = nil
	}
	return nil
}

// makeRamps joins those of the recipe with what the method has, which stand on the card, too.
func (p *parts) makeRamps(r *modelfile.Recipe, needs method.Needs) error {
	p.ramps = map[string]schedule.Ramp{sigmaRamp: {To: *r.Sigma, Over: r.SigmaWarmUp}}
	if a := needs.Adversary; a != nil {
		p.ramps[epsilonRamp] = a.Ramp()
	} else if needs.Shaken != nil {
		p.ramps[epsilonRamp] = schedule.Ramp{To: needs.Shaken.Epsilon}
	}
	said := maps.Clone(r.Ramps)
	for name, ramp := range needs.Ramps {
		if _, ok := said[name]; !ok {
			if said == nil {
				said = map[string]schedule.Ramp{}
			}
			said[name] = ramp
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		ramp := said[name]
		if err := ramp.Check(); err != nil {
			return fmt.Errorf("ramp of %s: %w", name, err)
		}
		switch {
		case name == sigmaRamp && (r.SigmaWarmUp > 0 || ramp.To != *r.Sigma || !(ramp.From >= 0)):
			return fmt.Errorf("the ramp of sigma goes from %v to %v, where σ is %v and grows over %d epochs; "+
				"expected it to end at σ, to begin at 0 or more, and no other growth", ramp.From, ramp.To, *r.Sigma,
				r.SigmaWarmUp)
		case name == epsilonRamp && !(ramp.From >= 0 && ramp.To >= 0):
			return fmt.Errorf("the ramp of epsilon goes from %v to %v; expected budgets of 0 or more", ramp.From,
				ramp.To)
		case name == epsilonRamp && !needs.Attacks() && needs.Ramps[name] == (schedule.Ramp{}):
			return fmt.Errorf("a ramp of epsilon, but the method %s has no adversary and no bounds", r.Method)
		case name != sigmaRamp && (name != epsilonRamp || !needs.Attacks()):
			p.numbers = append(p.numbers, name)
		}
		p.ramps[name] = ramp
	}
	r.Ramps = said
	return nil
}

func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// makeNoise reads the grey mode of the noise, which grows with σ. Training takes normal numbers: a law on the grid
// without that mode is the noise of no law.
func (p *parts) makeNoise(r *modelfile.Recipe) error {
	if r.NoiseLaw == "" {
		return nil
	}
	law, err := noise.ParseLaw(r.NoiseLaw)
	if err != nil {
		return err
	}
	sd, more := law.Grey()
	if r.NoiseLaw = ""; !more {
		return nil
	}
	if r.Noise() == 0 {
		return fmt.Errorf("the noise %s without σ; expected sigma above 0", law)
	}
	r.NoiseLaw, p.grey = string(law), sd/r.Noise()
	return nil
}
