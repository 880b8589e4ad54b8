package recipe

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/study/tier"
)

// SoftSuffix makes the kind of a ledger over the training images whose votes are soft labels, as in
// cifar10-soft; see train.Options.Soft.
const SoftSuffix = "-soft"

// StartSuffix makes the kind of a network that trainings begin with, as in cifar10-start.
const StartSuffix = "-start"

// Begin is a network that was there before the experiment.
type Begin struct {
	File    string `json:"file"`
	Weights string `json:"weights"` // "sha256:…"
}

// Check reports a file that is another one by now.
func (b *Begin) Check() error {
	card, err := modelfile.ReadCard(b.File)
	if err == nil && card.Weights != b.Weights {
		err = fmt.Errorf("experiment: %s, which training begins with, has the weights %s; the folder is for %s",
			modelfile.CardPath(b.File), card.Weights, b.Weights)
	}
	return err
}

// BaseKind is a kind of data without what a suffix adds.
func BaseKind(kind string) string {
	for _, suffix := range []string{StartSuffix, SoftSuffix, tier.OfficialSuffix, tier.GroupsSuffix, tier.ClassesSuffix} {
		kind = strings.TrimSuffix(kind, suffix)
	}
	return kind
}

// WithDecoder is the name of a data set that says how its JPEG pictures are decoded, where it may have some.
func WithDecoder(name string) string {
	d, err := dataset.Open(name)
	if err != nil || d.Preparation().JPEG == "" {
		return name // an error comes where it is opened
	}
	base, rest := tier.CutSelection(name)
	part := "jpeg=" + d.Preparation().JPEG
	if strings.Contains(rest, part) {
		return name
	}
	return tier.Select(base+"["+part+"]", rest)
}

// OpenSet opens a set of a manifest; names without a decoder of JPEG pictures are of earlier versions.
func OpenSet(name string) (*dataset.Dataset, error) { return dataset.OpenLike(name, name) }

// ExtraSet is a further set of images that a recipe's method learns from; see train.Set.
type ExtraSet struct {
	// kind of data, whose train part it is; of a Model the name of the set
	Data string `yaml:"data" json:"data"`
	// added to its name, as in channels=grey
	Prepare string                 `yaml:"prepare,omitempty" json:"prepare,omitempty"`
	Batch   int                    `yaml:"batch,omitempty" json:"batch,omitempty"`
	Augment modelfile.Augmentation `yaml:"augment,omitempty" json:"augment,omitempty"`
	Views   string                 `yaml:"views,omitempty" json:"views,omitempty"`
	Sigma   float64                `yaml:"sigma,omitempty" json:"sigma,omitempty"`
}
