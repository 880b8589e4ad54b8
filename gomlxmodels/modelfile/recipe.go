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
// flag, unless it has a flag of its own; a map's flag gives one option and has no s. Network,
// Input, Width and Bias stand on a card in the architecture.
type Recipe struct {
	Network string     `json:"-" yaml:"network,omitempty" flag:"net"`
	Input   nets.Input `json:"-" yaml:"input,omitempty"`
	Width   float64    `json:"-" yaml:"width,omitempty"`
	Bias    bool       `json:"-" yaml:"bias,omitempty"`

	// name of the loss and of what goes with it; see package method
	Method string `json:"method,omitempty" yaml:"method,omitempty"`
	// of the method; on a card all of them
	Options map[string]any `json:"options,omitempty" yaml:"options,omitempty"`
	// as augment.Parse reads it
	Views   string    `json:"views,omitempty" yaml:"views,omitempty"`
	ViewsBy ViewMaker `json:"views_by,omitempty" yaml:"views_by,omitempty"`
	// empty for own
	Initial nets.Initial `json:"initial,omitempty" yaml:"initial,omitempty"`
	// "sha256:…" of the weights that training began with; empty for random ones
	Start string `json:"start,omitempty" yaml:"-" flag:"-"`

	// "sha256:…" of the ledger whose votes are the soft labels; empty for labels
	Soft string `json:"soft,omitempty" yaml:"-" flag:"-"`

	Sigma       *float64 `json:"sigma" yaml:"sigma,omitempty"`
	SigmaWarmUp int      `json:"sigma_warm_up,omitempty" yaml:"sigma_warm_up,omitempty"`
	// as noise.ParseLaw reads it, where the noise has a grey mode besides; empty for none
	NoiseLaw string `json:"noise,omitempty" yaml:"noise,omitempty"`
	// of sigma, of the adversary's epsilon, of a number of the method, or by the name of a term of
	// the loss its factor
	Ramps        map[string]schedule.Ramp `json:"ramps,omitempty" yaml:"ramps,omitempty" flag:"-"`
	Epochs       int                      `json:"epochs" yaml:"epochs,omitempty"`
	BatchSize    int                      `json:"batch_size" yaml:"batch,omitempty"`
	LearningRate float64                  `json:"learning_rate" yaml:"rate,omitempty"`

	// see package schedule
	Schedule        string         `json:"schedule" yaml:"schedule,omitempty"`
	ScheduleOptions map[string]any `json:"schedule_options,omitempty" yaml:"schedule_options,omitempty"`
	Milestones      []int          `json:"milestones,omitempty" yaml:"milestones,omitempty"`
	WarmUp          int            `json:"warm_up,omitempty" yaml:"warm_up,omitempty"`

	// see package optimizer; empty for sgd, whose options are the three below
	Optimizer        string         `json:"optimizer,omitempty" yaml:"optimizer,omitempty"`
	OptimizerOptions map[string]any `json:"optimizer_options,omitempty" yaml:"optimizer_options,omitempty"`
	Momentum         *float64       `json:"momentum,omitempty" yaml:"momentum,omitempty"`
	Nesterov         bool           `json:"nesterov,omitempty" yaml:"nesterov,omitempty"`
	WeightDecay      *float64       `json:"weight_decay,omitempty" yaml:"weight_decay,omitempty"`

	// see package prune; empty for not at all
	Prune        string         `json:"prune,omitempty" yaml:"prune,omitempty"`
	PruneOptions map[string]any `json:"prune_options,omitempty" yaml:"prune_options,omitempty"`
	Sparsity     *float64       `json:"sparsity,omitempty" yaml:"sparsity,omitempty"`

	Augment Augmentation `json:"augment" yaml:"augment,omitempty"`
	// further images that the method takes, besides those of Train
	Sets []Set  `json:"sets,omitempty" yaml:"-" flag:"-"`
	Seed uint64 `json:"seed" yaml:"-" flag:"seed"`
}

// ViewMaker says who makes augmented views: the host or a graph on the device. Package train has its values.
type ViewMaker string

// Augmentation names the changes of an image beside its views: cropping and mirroring. Package train has its values.
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
