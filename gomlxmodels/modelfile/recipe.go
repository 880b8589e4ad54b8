package modelfile

import (
	"reflect"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/schedule"
)

// Recipe is how a network is trained: all that its weights depend on besides data and backend. It is the one place of
// these settings: of package train, of a card, of recipe files and manifests of experiments, and of the flags of the
// command line. Zero is unset; if zero is a value of its own, unset is nil.
//
// The names of a setting are its keys: json on cards, yaml in recipes and manifests, and the latter with a dash as a
// flag, unless it has a flag of its own. Network, Input, Width and Bias stand on a card in the architecture.
type Recipe struct {
	Network string     `json:"-" yaml:"network,omitempty" flag:"net" usage:"network"`
	Input   nets.Input `json:"-" yaml:"input,omitempty" usage:"input layer: none, center, standardize (both by CIFAR-10 statistics), cifar10 (deviations of all pixel values) or imagenet (standardized by ImageNet's)"`
	Width   float64    `json:"-" yaml:"width,omitempty" usage:"factor of the network's numbers of channels"`
	Bias    bool       `json:"-" yaml:"bias,omitempty" usage:"convolutions with biases, too"`

	// name of the loss and of what goes with it; see package method
	Method string `json:"method,omitempty" yaml:"method,omitempty" usage:"how to train"`
	// of the method; on a card all of them
	Options map[string]any `json:"options,omitempty" yaml:"options,omitempty" flag:"option" usage:"option of the method, as in lambda=20; may be given several times"`
	// as augment.Parse reads it
	Views   string    `json:"views,omitempty" yaml:"views,omitempty" usage:"augmentation that makes views of an image, as in fouriermix, augmix, autoaugment"`
	ViewsBy ViewMaker `json:"views_by,omitempty" yaml:"views_by,omitempty" usage:"what makes them: host (the faster on the CPU) or graph (on the device, for fouriermix)"`
	// empty for own
	Initial nets.Initial `json:"initial,omitempty" yaml:"initial,omitempty" usage:"random weights to begin with: own (of the network's definition) or ibp (widths of intervals keep their size)"`
	// "sha256:…" of the weights that training began with; empty for random ones
	Start string `json:"start,omitempty" yaml:"-" flag:"-"`

	// "sha256:…" of the ledger whose votes are the soft labels; empty for labels
	Soft string `json:"soft,omitempty" yaml:"-" flag:"-"`

	Sigma       *float64 `json:"sigma" yaml:"sigma,omitempty" usage:"standard deviation of the noise, 1 = full range"`
	SigmaWarmUp int      `json:"sigma_warm_up,omitempty" yaml:"sigma_warm_up,omitempty" usage:"epochs over which the noise grows to sigma"`
	// of sigma, of the adversary's epsilon, of a number of the method, or by the name of a term of
	// the loss its factor
	Ramps        map[string]schedule.Ramp `json:"ramps,omitempty" yaml:"ramps,omitempty" flag:"-"`
	Epochs       int                      `json:"epochs" yaml:"epochs,omitempty" usage:"passes over the data"`
	BatchSize    int                      `json:"batch_size" yaml:"batch,omitempty" usage:"images in a step, each in all views and noises of the method"`
	LearningRate float64                  `json:"learning_rate" yaml:"rate,omitempty" usage:"learning rate at the beginning"`

	// see package schedule
	Schedule        string         `json:"schedule" yaml:"schedule,omitempty" usage:"of the learning rate: cosine (to zero), step (divided after each milestone), triangular or constant"`
	ScheduleOptions map[string]any `json:"schedule_options,omitempty" yaml:"schedule_options,omitempty" flag:"schedule-option" usage:"option of the schedule, as in divide=5 or by=step; may be given several times"`
	Milestones      []int          `json:"milestones,omitempty" yaml:"milestones,omitempty" usage:"epochs for --schedule step (default half and three quarters of the run)"`
	WarmUp          int            `json:"warm_up,omitempty" yaml:"warm_up,omitempty" usage:"epochs at a tenth of the rate at the beginning"`

	// see package optimizer; empty for sgd, whose options are the three below
	Optimizer        string         `json:"optimizer,omitempty" yaml:"optimizer,omitempty" usage:"sgd or adam"`
	OptimizerOptions map[string]any `json:"optimizer_options,omitempty" yaml:"optimizer_options,omitempty" flag:"optimizer-option" usage:"option of the optimizer, as in beta2=0.99; may be given several times"`
	Momentum         *float64       `json:"momentum,omitempty" yaml:"momentum,omitempty" usage:"momentum of SGD"`
	Nesterov         bool           `json:"nesterov,omitempty" yaml:"nesterov,omitempty" usage:"Nesterov's form of momentum"`
	WeightDecay      *float64       `json:"weight_decay,omitempty" yaml:"weight_decay,omitempty" usage:"coupled weight decay, on all parameters"`

	// see package prune; empty for not at all
	Prune        string         `json:"prune,omitempty" yaml:"prune,omitempty" usage:"how to prune"`
	PruneOptions map[string]any `json:"prune_options,omitempty" yaml:"prune_options,omitempty" flag:"prune-option" usage:"option of the pruning, as in layerwise=true; may be given several times"`
	Sparsity     *float64       `json:"sparsity,omitempty" yaml:"sparsity,omitempty" usage:"share of the weights that pruning makes zero, at least 0 and below 1"`

	Augment Augmentation `json:"augment" yaml:"augment,omitempty" usage:"none, crop-flip (zero padding by 4, random crop, horizontal flip of every view), crop, flip, random-resized-crop-flip (a part of 8 to 100 % in the size of the whole) or random-resized-crop; with -shared behind it of the image, before its views are made"`
	// further images that the method takes, besides those of Train
	Sets []Set  `json:"sets,omitempty" yaml:"-" flag:"-"`
	Seed uint64 `json:"seed" yaml:"-" flag:"seed" usage:"seed of weights, order, crops, flips and noise"`
}

// ViewMaker is what makes augmented views: the host or a graph on the device. Package train has its values.
type ViewMaker string

// Augmentation is what is done to an image beside its views: cropping and mirroring. Package train has its values.
type Augmentation string

// Set is a further set of images in training, as of images that are none of the classes; see method.Set.
type Set struct {
	Name    string       `json:"name"` // by which the method knows it
	Data    Data         `json:"data"`
	Batch   int          `json:"batch"` // images in a step
	Augment Augmentation `json:"augment"`
	Views   string       `json:"views,omitempty"`
	Sigma   float64      `json:"sigma"`
}

// Noise is σ, 0 where it is unset.
func (r Recipe) Noise() float64 { return value(r.Sigma) }

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// Complete fills in what cards and checkpoints of earlier versions leave out: they knew one method.
func (r *Recipe) Complete() {
	if r.Method == "" {
		r.Method, r.Options = "gaussian", map[string]any{"share": "all"}
	}
}

// Incomplete is the recipe as Complete found it, where it filled something in.
func (r Recipe) Incomplete() Recipe {
	if r.Method == "gaussian" && reflect.DeepEqual(r.Options, map[string]any{"share": "all"}) {
		r.Method, r.Options = "", nil
	}
	return r
}

// Unknown is the recipe of a network whose training is not known, but for the noise.
func Unknown(sigma float64) Recipe {
	return Recipe{Sigma: &sigma, Momentum: new(0.0), WeightDecay: new(0.0)}
}
