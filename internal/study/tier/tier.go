// Package tier says how much of an experiment is done, and which sets a table is measured on.
package tier

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// Tier says how much of an experiment is done. It is part of every result.
type Tier struct {
	Name  string `yaml:"-" json:"name"`
	Title string `yaml:"title" json:"title"`

	// Epochs of training from random weights, and FineTune of training that goes on from a network;
	// at most what the recipe has, which a 0 leaves as it is. Milestones and warm-ups, those of
	// attacks among them, shrink with them, to whole epochs.
	Epochs   int `yaml:"epochs,omitempty" json:"epochs,omitempty"`
	FineTune int `yaml:"fine_tune,omitempty" json:"fine_tune,omitempty"`
	// at most so many images in a step; 0: any
	Batch int `yaml:"batch,omitempty" json:"batch,omitempty"`
	Seeds int `yaml:"seeds,omitempty" json:"seeds,omitempty"` // at most so many of a recipe; 0: all
	// values of grids, by key, in place of those of the recipes
	Grid map[string][]float64 `yaml:"grid,omitempty" json:"grid,omitempty"`

	// of the learning rate, in place of those of the recipes and of their milestones
	Schedule string `yaml:"schedule,omitempty" json:"schedule,omitempty"`

	// upper limits of options, by method
	Methods map[string]map[string]int `yaml:"methods,omitempty" json:"methods,omitempty"`
	Data    map[string]DataPart       `yaml:"data,omitempty" json:"data,omitempty"`

	// Images of a measure, by its key, as in skip=20; default Clean. Those of calibration and
	// attacks stand with their settings.
	Images map[string]string `yaml:"images,omitempty" json:"images,omitempty"`

	Pruning Pruning `yaml:"pruning,omitempty" json:"pruning,omitzero"`
	Record  Record  `yaml:"record,omitempty" json:"record,omitzero"` // of the numbers of a model

	Certify CertifySettings `yaml:"certify" json:"certify"` // of ACRs
	// images that are certified as they are, as in skip=20
	Clean       string          `yaml:"clean" json:"clean"`
	Corrupted   CorruptedImages `yaml:"corrupted" json:"corrupted"`     // of C and C-bar
	Fourier     FourierImages   `yaml:"fourier" json:"fourier"`         // of CIFAR-F
	Calibration Calibration     `yaml:"calibration" json:"calibration"` // of confidences
	Attack      Attack          `yaml:"attack" json:"attack"`           // of confidences, without noise

	// Of the measure heatmap, which keeps it itself: folders of a tier that did not have it go on.
	Heatmap HeatMap `yaml:"heatmap,omitempty" json:"-"`

	// of the confidence on foreign images
	Adversary Adversary `yaml:"adversary,omitempty" json:"adversary,omitzero"`
	// patterns of recipes that it leaves out of tables
	Except []string `yaml:"except,omitempty" json:"except,omitempty"`
}

// DataPart is a tier's part of a data set, and the network it trains on it.
type DataPart struct {
	At      string `yaml:"at,omitempty" json:"at,omitempty"`           // another data set of the same kind
	Network string `yaml:"network,omitempty" json:"network,omitempty"` // default the recipe's
	// Widths are the widths of networks that stay what they are, by their names; Network and Rate are
	// for the others.
	Widths map[string]float64 `yaml:"widths,omitempty" json:"widths,omitempty"`
	// Batch is of those networks: at most so many images in a step, in place of the tier's, and
	// learning rates that fall in proportion.
	Batch  int `yaml:"batch,omitempty" json:"batch,omitempty"`
	Epochs int `yaml:"epochs,omitempty" json:"epochs,omitempty"` // in place of the tier's
	// Rate is the largest learning rate that the network bears: those of recipes are at most this;
	// 0: any.
	Rate  float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	Train string  `yaml:"train,omitempty" json:"train,omitempty"` // images to learn from, as in count=8000
	// Images that are certified, clean and in each cell, in place of those of the tier.
	Images string `yaml:"images,omitempty" json:"images,omitempty"`
	// Confidences: images whose confidences are certified, in place of those of the tier.
	Confidences string `yaml:"confidences,omitempty" json:"confidences,omitempty"`
	// Rows in a step, those of views, noises and attacks counted, in place of batches; epochs are
	// then those of a method with one row for each image, and all methods take equal rows and
	// steps, where the number of images is a multiple of the rows.
	Rows int `yaml:"rows,omitempty" json:"rows,omitempty"`
	// Given: trainings begin with a network that is given as the place of KIND-start.
	Given bool   `yaml:"given,omitempty" json:"given,omitempty"`
	Test  string `yaml:"test,omitempty" json:"test,omitempty"` // images for the accuracies on the card
}

// CleanImages are the images of a kind of data that are certified as they are.
func (t Tier) CleanImages(kind string) string { return cmp.Or(t.Data[kind].Images, t.Clean) }

// ConfidenceImages are those whose confidences are certified.
func (t Tier) ConfidenceImages(kind string) string {
	return cmp.Or(t.Data[kind].Confidences, t.Calibration.Images)
}

// CertifySettings are the settings of rs.Options that a tier fixes; zero values are their defaults.
type CertifySettings struct {
	Rule      string    `yaml:"rule,omitempty" json:"rule,omitempty"`
	N         int       `yaml:"n,omitempty" json:"n,omitempty"`
	N0        int       `yaml:"n0,omitempty" json:"n0,omitempty"`
	Block     int       `yaml:"block,omitempty" json:"block,omitempty"`
	Alpha     float64   `yaml:"alpha,omitempty" json:"alpha,omitempty"`
	Tolerance float64   `yaml:"tolerance,omitempty" json:"tolerance,omitempty"`
	Radii     []float64 `yaml:"radii,omitempty" json:"radii,omitempty"`
	Noise     string    `yaml:"noise,omitempty" json:"noise,omitempty"`
	Paired    bool      `yaml:"paired,omitempty" json:"paired,omitempty"` // all networks meet the same noise
}

// Options are the settings as Certify takes them.
func (c CertifySettings) Options(sigma float64) rs.Options {
	return rs.Options{
		Sigma: sigma, Rule: rs.Rule(c.Rule), MaxSamples: c.N, Selection: c.N0, Block: c.Block,
		Alpha: c.Alpha, Tolerance: c.Tolerance, Radii: c.Radii, Noise: noise.Law(c.Noise), Paired: c.Paired,
	}
}

// CorruptedImages says which images are certified under corruptions, and how strong these are.
type CorruptedImages struct {
	Images     string `yaml:"images" json:"images"`
	Severities []int  `yaml:"severities,omitempty" json:"severities,omitempty"` // default 1 to 5
	// Corruptions of the families C and C-bar that are taken; default all.
	Corruptions []string `yaml:"corruptions,omitempty" json:"corruptions,omitempty"`
}

// FourierImages says which images are certified under the noise of CIFAR-F, and which.
type FourierImages struct {
	Images  string    `yaml:"images" json:"images"`
	Centres []int     `yaml:"centres,omitempty" json:"centres,omitempty"` // default all
	Decays  []float64 `yaml:"decays,omitempty" json:"decays,omitempty"`   // default all
	Norms   []float64 `yaml:"norms,omitempty" json:"norms,omitempty"`     // default all
}

// Calibration says how confidences are certified.
type Calibration struct {
	Images  string          `yaml:"images" json:"images"`
	Certify CertifySettings `yaml:"certify" json:"certify"`
	Cells   int             `yaml:"cells,omitempty" json:"cells,omitempty"` // that scores are counted in; default 1,000
	Steps   int             `yaml:"steps,omitempty" json:"steps,omitempty"` // of a run of ADMM; default 3,000
}

// HeatMap says which images are disturbed at which frequencies.
type HeatMap struct {
	Images string `yaml:"images,omitempty" json:"images,omitempty"` // default Clean
	// periods over an image, both ways with their negatives; default 0 to 15
	Frequencies []int `yaml:"frequencies,omitempty" json:"frequencies,omitempty"`
}

// Attack says which images are attacked, and how long.
type Attack struct {
	Images string `yaml:"images" json:"images"`
	Steps  int    `yaml:"steps,omitempty" json:"steps,omitempty"` // default 100
}

// Pruning says which pruned networks a tier makes.
type Pruning struct {
	// Sparsities that are made, and those of the rounds of pruning in rounds, which then start from
	// each other; default all, with rounds as the recipes say. Recipes of others are left out of
	// tables.
	Sparsities []float64 `yaml:"sparsities,omitempty" json:"sparsities,omitempty"`
	Global     bool      `yaml:"global,omitempty" json:"global,omitempty"` // none by layer
}

// Adversary say how foreign images are attacked; zero values take the paper's.
type Adversary struct {
	Attacks  []string `yaml:"attacks,omitempty" json:"attacks,omitempty"`
	Steps    int      `yaml:"steps,omitempty" json:"steps,omitempty"` // of Auto-PGD
	Restarts int      `yaml:"restarts,omitempty" json:"restarts,omitempty"`
	Monotone int      `yaml:"monotone,omitempty" json:"monotone,omitempty"` // steps of monotone PGD
	// points of other networks that it begins with, the best; 0: all
	Transfer int `yaml:"transfer,omitempty" json:"transfer,omitempty"`
}

func (a Adversary) String() string {
	return fmt.Sprintf("%s; %d steps of Auto-PGD from %d starts, %d of monotone PGD", strings.Join(a.Attacks, ", "),
		a.Steps, a.Restarts, a.Monotone)
}

// Record say how much a tier measures of a record; zero values are as published.
type Record struct {
	Pairs          int `yaml:"pairs,omitempty" json:"pairs,omitempty"`
	PixelPairs     int `yaml:"pixel_pairs,omitempty" json:"pixel_pairs,omitempty"`
	JacobianImages int `yaml:"jacobian_images,omitempty" json:"jacobian_images,omitempty"`
}
