// Package measure has what may be measured of a network, a file each: the settings under its key in a
// table, its jobs, what they cost, how they run, and the files that they leave.
//
// A new measure is one file, as kept.go: a type with the methods of Measure and Shown, and an init that
// calls add and gives its quantities to package study. It writes columns, so that reading, merging and
// comparing them needs nothing of its own.
package measure

import (
	"cmp"
	"context"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/sweep"
)

// Measure holds the settings that a table gives under the key of a measure.
type Measure interface {
	// Name is the key.
	Name() string
	// Jobs are the jobs of a model that has no results yet; none where there is nothing to do for it.
	Jobs(p Place, m *Model) ([]Job, error)
	// Done reports whether the results of a job are in the folder.
	Done(p Place, j Job) (bool, error)
	// Cost adds what a job takes.
	Cost(c Costs, j Job) error
	// Run does a job, and leaves its results in the folder, whole or not at all.
	Run(ctx context.Context, t Tools, j Job) error
}

// Placed is a measure that keeps settings of a tier and the names of data.
type Placed interface {
	At(s Setting) (Measure, error)
}

// Shown is a measure whose table needs no reader of its own: one quantity, on some sets.
type Shown interface {
	Shown(t tier.Tier) (what string, sets []string, err error)
}

// Setting is a measure's surroundings.
type Setting struct {
	Tier   tier.Tier
	Places map[string]string // where data lie, by kind
	Sets   func(kind string) (train, test string, err error)
	Here   func(kind string) bool // whether a kind of data is known and at hand
}

// Model is a measure's knowledge of a network.
type Model struct {
	Name, Title, Data, Test, Check string
	Slug                           string // the name as files bear it
	File                           string // of a finished network
	Results                        string // of a row whose results are there
	Sigma                          float64
	Adapted                        bool // to each corruption
	Labels                         map[string]string
}

// Job is one piece of work. Jobs of one kind, model, part and further models are the same.
type Job struct {
	Kind  string // one word, as in certify
	Model *Model
	With  []*Model   // further models that it needs, which are trained before it
	Part  string     // of what is measured, as in fog-3; may be empty
	Cell  sweep.Cell // of a job on one set
	// Stage puts a job after all those of lower stages, where the models that it needs are in the run.
	Stage int
}

// models are all that a job needs.
func (j Job) models() []*Model { return append([]*Model{j.Model}, j.With...) }

// Place is the folder of a study, its tier and one of its tables.
type Place interface {
	Tier() tier.Tier
	At(parts ...string) string             // path below the folder
	Result(m *Model, suffix string) string // path of a result
	Images(m *Model, key string) string    // that the measure of a key takes of a model's test set
	OwnImages(m *Model) string             // those of the accuracies on a model's card
	Reference(m *Model) *Model             // what the table compares with a model; nil: nothing
	Others(m *Model) []*Model              // further networks of the table, of the same data
	DataAt(kind string) string             // where data of a kind lie; "" where the library says
	ImagesOf(m *Model, c sweep.Cell) (name string, change *corrupt.Setting)
}

// Costs adds up what jobs take.
type Costs interface {
	Place
	Size(set string) (images float64, err error)
	// Training adds rows that a network takes forward and back.
	Training(m *Model, rows float64) error
	// Certify adds the noise samples of images under a rule.
	Certify(m *Model, images float64, o rs.Options) error
	// Samples adds images or noise samples that a model classifies, and at most so many.
	Samples(m *Model, n, most float64) error
	// Layers adds images that a network takes forward and back in float64.
	Layers(m *Model, n float64) error
	// Searches adds runs of ADMM.
	Searches(n int)
}

// Tools open what a job needs, and keep what it finds.
type Tools interface {
	Place
	Set(name string) (*dataset.Dataset, error)
	Corrupted(name string, change *corrupt.Setting) (*dataset.Dataset, error)
	// Open opens a model, adapted to a cell where it is adapted to each.
	Open(ctx context.Context, m *Model, c sweep.Cell) (Network, error)
	// Path is where the network for clean images lies.
	Path(ctx context.Context, m *Model) (string, error)
	// Look looks a model over before it certifies first, on clean images; the context that it
	// returns carries the first answers.
	Look(ctx context.Context, m Network, on string, o rs.Options) (context.Context, error)
	// Keep writes a result with its digest, whole or not at all.
	Keep(path string, text []byte) error
	Report(s progress.State)
	// Confidences are those of the network at a path for images as they are, and under each of some attacks.
	Confidences(ctx context.Context, path string, images *dataset.Images, attacks []ace.Attack) ([]ace.Predictions,
		error)
	Program() string // version, for files that name it
}

// Network is one that is open, such as an engine.Model.
type Network interface {
	classifier.Classifier
	FeedForward(ctx context.Context) (*feedforward.Network, error)
	Gradients(ctx context.Context) (g classifier.Differentiable, how string, end func() error, err error)
	Trained() []ledger.Data
}

// known are all measures.
var known []declared

type declared struct {
	place int // in the order of jobs and tables
	make  func() Measure
}

// add makes a measure known.
func add(place int, of func() Measure) { known = append(known, declared{place, of}) }

// Declared are all measures at their defaults, in the order in which a model's jobs are done and its
// tables stand: certified radii come first.
func Declared() (all []Measure) {
	for _, k := range slices.SortedFunc(slices.Values(known), byPlace) {
		all = append(all, k.make())
	}
	return all
}

func byPlace(a, b declared) int { return cmp.Compare(a.place, b.place) }
