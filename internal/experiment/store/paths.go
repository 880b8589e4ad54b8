package store

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
)

// Files of a folder.
const (
	manifestFile = "manifest.json"
	lockFile     = ".lock"
	RatesFile    = "rates.json" // what this machine was measured to do
	SealsFile    = "seals.json" // digests, beside the results
)

// Endings of results.
const (
	// SharesSuffix ends the names of files with the share of each image's noise samples in the class that
	// is certified, in the form of files of radii: the estimate K/N of p_A, which, unlike a radius, has
	// no largest value that depends on the number of samples.
	SharesSuffix = ".shares.csv"
	FailedSuffix = ".failed.json"
)

// ModelPath is where the network of a model lies, or will.
func ModelPath(folder string, m *recipe.Model) string {
	if m.File != "" {
		return m.File
	}
	return filepath.Join(folder, "models", m.Slug())
}

// AdaptedPath is where a network adapted to a cell lies.
func AdaptedPath(folder string, m *recipe.Model, c sweep.Cell) string {
	return filepath.Join(folder, "adapted", m.Slug(), c.String())
}

// LedgerPath is where the ledger of a cell lies.
func LedgerPath(folder string, m *recipe.Model, c sweep.Cell) string {
	return filepath.Join(folder, "ledgers", m.Slug(), c.String()+".ledger")
}

// ResultPath is where a result of a model lies; see Place.Result.
func ResultPath(folder string, m *recipe.Model, what string) string {
	return filepath.Join(folder, "results", m.Slug()+what)
}

// ImagesOf names the images of a cell in the test set, and says how they are corrupted, nil: not,
// or in the files that the name is of.
func (m *Manifest) ImagesOf(model *recipe.Model, c sweep.Cell) (name string, change *corrupt.Setting) {
	selection := m.Tier.Clean
	switch {
	case c.Setting.Norm > 0:
		selection = m.Tier.Fourier.Images
	case c.Corruption != "":
		selection = m.Tier.Corrupted.Images
	}
	selection = cmp.Or(m.Tier.Data[model.Data].Images, selection)
	if folder := m.Places[model.Data+tier.OfficialSuffix]; folder != "" && c.Setting.Severity > 0 {
		if model.Data == tier.ImageNet {
			return tier.Select(tier.ImageNetCell(folder, c), selection), nil
		}
		name := fmt.Sprintf("npy:%s,%s,severity=%d", filepath.Join(folder, c.Corruption+".npy"),
			filepath.Join(folder, "labels.npy"), c.Setting.Severity)
		if of := tier.CIFAROf(model.Data); of != "" {
			name += ",classes=" + of
		}
		return tier.Select(name, selection), nil
	}
	if c.Corruption == "" {
		return tier.Select(model.Test, selection), nil
	}
	return tier.Select(model.Test, selection), &c.Setting
}

// Trained reports whether the network of a model is there.
func Trained(folder string, m *recipe.Model) bool {
	return m.File != "" || m.Results != "" || modelfile.Exists(ModelPath(folder, m))
}

// Place is the folder of an experiment with one of its tables.
type Place struct {
	Folder   string
	Manifest *Manifest
	Table    *Table
}

// Result is where a result of a model lies, or will: results/MODEL with a suffix such as ".agreement.csv".
func (p *Place) Result(m *recipe.Model, suffix string) string { return ResultPath(p.Folder, m, suffix) }

// Images names the images that a measure takes of a model's test set: those that the tier says for
// its key under images, else its clean ones.
func (p *Place) Images(m *recipe.Model, key string) string {
	selection, ok := p.Manifest.Tier.Images[key]
	if !ok {
		selection = p.Manifest.Tier.CleanImages(m.Data)
	}
	return tier.Select(m.Test, selection)
}

// Reference is the model that stands beside another in the line that the table compares with: that
// of the same place among the seeds, or the last; nil where there is none.
func (p *Place) Reference(m *recipe.Model) *recipe.Model {
	line := p.Table.reference()
	if line == nil {
		return nil
	}
	place := 0
	for _, l := range p.Table.Lines {
		if i := slices.Index(l.Models, m.Name); i >= 0 {
			place = i
		}
	}
	return p.Manifest.Model(line.Models[min(place, len(line.Models)-1)])
}

// OwnImages are a model's own images: those of the accuracies on its card, for a finished network
// those that a card of the tier would name.
func (p *Place) OwnImages(m *recipe.Model) string {
	return cmp.Or(m.Check, tier.Select(m.Test, p.Manifest.Tier.Data[m.Data].Test))
}
