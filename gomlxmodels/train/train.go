// Package train trains a network of package nets on images with Gaussian noise: the base classifier of randomized
// smoothing. Each step minimises the loss of a method of package method on noisy views of the images, by an optimizer
// of package optimizer at the rate of a schedule of package schedule. The noise δ ~ N(0, σ²I) is drawn anew for every
// step.
//
// A run is a function of data, architecture, recipe and backend. Order of the data, views, crops, flips and noise are
// functions of (seed, epoch, image). So an interrupted run that is started again ends with the same weights, bit for
// bit, as one that was not interrupted.
package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/optimizer"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/progress"
)

// Options say what to train. All but Train, Test and Out may be left zero; Defaults gives what stands for a zero.
type Options struct {
	// the recipe, see modelfile.Recipe
	Network          string
	Input            nets.Input
	Width            float64
	Bias             bool
	Method           string
	Options          map[string]any
	Views            string
	ViewsBy          modelfile.ViewMaker
	Initial          nets.Initial
	Sigma            *float64
	SigmaWarmUp      int
	NoiseLaw         string
	Ramps            map[string]schedule.Ramp
	Epochs           int
	BatchSize        int
	LearningRate     float64
	Schedule         string
	ScheduleOptions  map[string]any
	Milestones       []int
	WarmUp           int
	Optimizer        string
	OptimizerOptions map[string]any
	Momentum         *float64
	Nesterov         bool
	WeightDecay      *float64
	Prune            string
	PruneOptions     map[string]any
	Sparsity         *float64
	Augment          modelfile.Augmentation
	Seed             uint64

	// Own values take the place of what the recipe names.
	Own Own

	Train *dataset.Dataset // labelled images to learn from
	Test  *dataset.Dataset // labelled images for the accuracies on the card
	More  map[string]Set   // further images that the method takes, by the names that it has for them
	// path of a ledger over Train: the shares of its noise samples in the classes are the images'
	// soft labels, for a method that takes some
	Soft string
	From string // path of a model file whose weights training begins with; default random weights
	Out  string // path of the model file, NAME or NAME.safetensors; see package modelfile

	Checkpoint string // path of the checkpoint; default OUT.checkpoint. It is deleted at the end
	Backend    string // as backend.Open takes it
	Program    string // version of the program, for the card
	Command    string // command line, for the card

	Progress progress.Reporter // also told what a user should know: classes left out, a slow engine; may be nil

	// Diagnose is told what the terms of the loss are on the first batch of this run, the second,
	// the fourth, the eighth and so on, before their steps; nil for none. It changes nothing of the
	// training, and is no part of what tells one run from another.
	Diagnose func(Diagnosis)

	afterStep func(step int)         // for tests
	inspect   func(*trainer, *state) // for tests: before afterStep
}

// Own are values of a program's own, where it has not registered them under a name.
type Own struct {
	Method    method.Method
	Views     augment.Augmentation
	Optimizer optimizer.Optimizer
	Schedule  schedule.Schedule
}

// Set is a further set of images and the operations on them. They are shuffled anew for every pass, however many passes
// fall into an epoch of Train. Labels are ignored if the method does not need them. Images may be larger than those of
// Train if Augment crops them.
type Set struct {
	Data    *dataset.Dataset
	Batch   int                    // images in a step; default the recipe's
	Augment modelfile.Augmentation // one of Augmentations; default "none"
	Views   string                 // an augmentation of package augment; default none
	Sigma   float64                // of the noise on them
}

// Run trains, and returns the card of the finished model. Started again after an interrupt or a crash with the same
// options, it goes on at the last checkpoint: one is kept after every epoch and when ctx ends. If the model is already
// complete, it returns at once. A model or checkpoint of another run at the same path is an error that names the
// difference.
//
// Besides the model it writes OUT.csv, a line per epoch: epoch, images seen, learning rate at the end, mean loss,
// accuracy on the first noisy view of the training images, seconds of training so far. If the method takes further
// sets, the means of the loss's terms and the ramps stand there, too.
func Run(ctx context.Context, options Options) (*modelfile.Card, error) {
	p, err := options.plan(ctx)
	if err != nil {
		return nil, err
	}
	if modelfile.Exists(options.Out) {
		return p.finished(options.Out)
	}
	p.warn(p.images.Warnings...)
	p.warn(p.test.Warnings...)
	b, err := backend.OpenForTraining(options.Backend)
	if err != nil {
		return nil, err
	}
	p.warn(b.Note)
	p.run.Backend = b.Identity()

	state, err := p.readCheckpoint()
	var other *otherRun
	if errors.As(err, &other) { // one from before there were kernels goes on without them
		native, openErr := b.Native()
		if openErr == nil && native != b && native.Identity() == other.backend {
			b, p.run.Backend = native, native.Identity()
			p.warn("the checkpoint was made without kernels for XLA, so training goes on without them")
			state, err = p.readCheckpoint()
		}
	}
	if err != nil {
		return nil, err
	}
	if state == nil {
		state = p.newState()
		if err := p.startTensors(state); err != nil {
			return nil, err
		}
		if err := p.newPruned(state); err != nil {
			return nil, err
		}
	}
	if err := p.train(ctx, b, state); err != nil {
		return nil, err
	}
	return p.finish(ctx, b, state)
}

func (p *plan) warn(messages ...string) {
	for _, m := range messages {
		if m != "" {
			p.options.Progress.Say("%s", m)
		}
	}
}

// train takes the remaining steps.
func (p *plan) train(ctx context.Context, b *backend.Backend, s *state) (err error) {
	if s.Step == p.steps {
		return nil
	}
	t, err := newTrainer(b, p, s)
	if err != nil {
		return err
	}
	defer t.close()

	feedContext, stopFeed := context.WithCancel(ctx)
	defer stopFeed()
	batches := p.feed(feedContext, s.Step)
	report := newReport(p, s)
	defer func() { report.final(s) }()

	// save brings the weights back from the device and keeps them.
	save := func() error {
		if err := t.read(s); err != nil {
			return err
		}
		return p.writeCheckpoint(s)
	}
	for first := s.Step; s.Step < p.steps; {
		start := time.Now()
		batch, ok := <-batches
		if !ok || ctx.Err() != nil {
			if p.collapsed(s) == 0 {
				if err := save(); err != nil {
					return err
				}
			}
			return fmt.Errorf("train: stopped at step %d of %d: %w", s.Step, p.steps, context.Cause(ctx))
		}
		waited := time.Since(start)
		if err := p.pruneBefore(t, s); err != nil {
			return err
		}
		epoch := s.Step / p.stepsPerEpoch
		if taken := s.Step - first; t.measure != nil && taken&(taken+1) == 0 {
			d, err := t.diagnose(batch, s.Step)
			if err != nil {
				return fmt.Errorf("train: step %d (epoch %d): %w", s.Step+1, epoch+1, err)
			}
			p.options.Diagnose(d)
		}
		o, err := t.step(batch, s.Step)
		if err != nil {
			return fmt.Errorf("train: step %d (epoch %d): %w; %s", s.Step+1, epoch+1, err, p.kept())
		}
		if o.loss-o.loss != 0 {
			return fmt.Errorf("train: the loss is %v (%s) at step %d (epoch %d) with learning rate %g; a lower rate "+
				"or a warm-up helps; %s",
				o.loss, t.notFinite(o), s.Step+1, epoch+1, p.rate(s.Step), p.kept())
		}
		s.Step++
		s.Waiting += waited.Seconds()
		s.EpochLoss += o.loss
		s.EpochCorrect += o.correct
		if len(p.more) > 0 && len(o.terms) > 0 {
			s.addTerms(t.terms, o.terms)
		}
		s.Seconds += time.Since(start).Seconds()
		if s.Step%p.stepsPerEpoch == 0 {
			p.endEpoch(s)
			if err := p.checkCollapse(s); err != nil {
				return err
			}
			if p.collapsed(s) == 0 { // else what is kept is from before
				if err := save(); err != nil {
					return err
				}
			}
		}
		report.step(s, o.loss)
		if p.options.inspect != nil {
			p.options.inspect(t, s)
		}
		if p.options.afterStep != nil {
			p.options.afterStep(s.Step)
		}
	}
	return nil
}

// finish measures the network, writes the model and removes the checkpoint.
func (p *plan) finish(ctx context.Context, b *backend.Backend, s *state) (*modelfile.Card, error) {
	e, err := newEvaluator(b, p, s)
	if err != nil {
		return nil, err
	}
	defer e.close()
	clean, err := e.accuracy(ctx, 0)
	if err != nil {
		return nil, err
	}
	noisy := clean
	if p.run.Recipe.Noise() > 0 {
		if noisy, err = e.accuracy(ctx, p.run.Recipe.Noise()); err != nil {
			return nil, err
		}
	}
	model := &modelfile.Model{
		Card: modelfile.Card{
			Architecture: p.run.Architecture,
			Classes:      p.run.Classes,
			Recipe:       p.run.Recipe,
			Train:        p.run.Train,
			Test:         p.run.Test,
			Accuracy:     clean,
			NoisyTest:    noisy,
			Loss:         s.Log[len(s.Log)-1].Loss,
			Backend:      p.run.Backend,
			Seconds:      s.Seconds,
			Waiting:      s.Waiting,
			Program:      p.options.Program,
			Command:      p.options.Command,
		},
	}
	for i, t := range p.tensors {
		model.Weights = append(model.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: s.weights[i]})
	}
	if model.Card.Pruning = p.pruningCard(s); s.Rewound {
		if model.Card.Pruning.Rewind, err = p.writeRewind(s); err != nil {
			return nil, err
		}
	}
	if err := p.writeLog(s); err != nil {
		return nil, err
	}
	if err := modelfile.Write(p.options.Out, model); err != nil {
		return nil, err
	}
	if err := p.removeCheckpoint(); err != nil {
		return nil, err
	}
	return &model.Card, nil
}

// state is all that changes during a run. Its exported fields travel in the checkpoint as JSON.
type state struct {
	Step         int     // steps taken
	EpochLoss    float64 // sum of the steps' losses in the current epoch
	EpochCorrect int     // images of the current epoch classified right before the update
	Seconds      float64 // spent in steps
	Waiting      float64 // of which for the batch
	Log          []epoch // finished epochs
	Round        int     `json:",omitempty"` // phases of a pruning that have begun
	Rewound      bool    `json:",omitempty"` // the weights that a pruning goes back to are known

	// Of methods with further sets: the terms of the loss, and their sums in the current epoch.
	Terms      []string  `json:",omitempty"`
	EpochTerms []float64 `json:",omitempty"`

	weights [][]float32   // of plan.tensors
	slots   [][][]float32 // of the optimizer, each of plan.tensors; nil for what it does not train
	pruned
}

// epoch is a line of the log.
type epoch struct {
	Images   int
	Rate     float64
	Loss     float64
	Accuracy float64
	Seconds  float64
	Terms    []float64 `json:",omitempty"` // means of state.Terms
}

// addTerms adds those of a step to those of the epoch.
func (s *state) addTerms(names []string, values []float64) {
	if s.Terms = names; len(s.EpochTerms) == 0 {
		s.EpochTerms = make([]float64, len(names))
	}
	for i, v := range values {
		s.EpochTerms[i] += v
	}
}

func (p *plan) newState() *state {
	s := &state{}
	for i, t := range p.tensors {
		if p.start != nil {
			s.weights = append(s.weights, slices.Clone(p.start[i].Values))
		} else {
			s.weights = append(s.weights, t.As(p.run.Recipe.Initial).Initialize(p.run.Recipe.Seed))
		}
	}
	s.slots = p.newSlots()
	return s
}

func (p *plan) newSlots() (slots [][][]float32) {
	for range p.optimizer.Slots() {
		var slot [][]float32
		for i, t := range p.tensors {
			var values []float32
			if p.trains(i) {
				values = make([]float32, t.Size())
			}
			slot = append(slot, values)
		}
		slots = append(slots, slot)
	}
	return slots
}

func (p *plan) endEpoch(s *state) {
	images := p.stepsPerEpoch * p.run.Recipe.BatchSize
	for i := range s.EpochTerms {
		s.EpochTerms[i] /= float64(p.stepsPerEpoch)
	}
	s.Log = append(s.Log, epoch{
		Images:   s.Step * p.run.Recipe.BatchSize,
		Rate:     p.rate(s.Step - 1),
		Loss:     s.EpochLoss / float64(p.stepsPerEpoch),
		Accuracy: float64(s.EpochCorrect) / float64(images),
		Seconds:  s.Seconds,
		Terms:    s.EpochTerms,
	})
	s.EpochLoss, s.EpochCorrect, s.EpochTerms = 0, 0, nil
}

// architecture of a run on these images.
