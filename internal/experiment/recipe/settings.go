package recipe

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

// Agreement is how often a model answers as the one that the table compares with does, on
// clean images without noise: the predictions of both, image by image, in
// results/MODEL.predictions.csv. A job needs both models.
type Agreement bool

// ConfidenceAttacks is the calibration of networks under attacks on their confidences:
// results/MODEL.attacks.json, and the confidences behind it, image by image, in
// results/MODEL.attacks.csv. It needs the network itself: finished rows have none.
type ConfidenceAttacks struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // L∞ budget, 1 = full range
	Bins    int     `yaml:"bins,omitempty" json:"bins,omitempty"`
}

// ConfidenceAttackSteps of an attack on confidences; see perturb.ACE.
const ConfidenceAttackSteps = 100

// BinCount are those of AdaECE; 15 where a table does not say how many.
func (m *ConfidenceAttacks) BinCount() int { return cmp.Or(m.Bins, 15) }

// Calibration is the largest calibration error and Brier score that the certified
// confidences allow: a ledger with scores in calibration/, results/MODEL.calibration.json, and the
// intervals behind it, image by image, in results/MODEL.calibration.csv.
type Calibration struct {
	Radii []float64 `yaml:"radii" json:"radii"`
	// Within: of each group, the smallest errors of its models whose accuracy is at most this much
	// below the best of all (certified-calibration tables 2 and 6 to 10); 0: all models, row by
	// row.
	Within float64 `yaml:"within,omitempty" json:"within,omitempty"`
}

const CalibrationBins = 15 // M of Emde et al. 2025

// Evaluation is the plain accuracy of a model, without noise, on clean images and under
// corruptions, in results/MODEL.evaluate.json, with the predictions in
// predictions/CORRUPTION/SEVERITY/MODEL.npy.
type Evaluation struct {
	tier.Shifts `yaml:",inline"`
}

// HeatMap is the average certified radius of images disturbed at one frequency, at each of a
// grid (Sun et al. 2021, figures 3 and 5): a ledger for each frequency in ledgers/MODEL/heatmap/,
// and of all of them results/MODEL.heatmap.json. The tier says which images and frequencies.
type HeatMap struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // ℓ₂ norm of a disturbance, for each channel

	tier.HeatMap `yaml:",inline"`
}

// at takes from the tier what the table leaves open.
func (m *HeatMap) at(s *Setup) (Measure, error) {
	placed := *m
	placed.Images = cmp.Or(m.Images, s.Tier.Heatmap.Images, s.Tier.Clean)
	if len(m.Frequencies) == 0 {
		placed.Frequencies = s.Tier.Heatmap.Frequencies
	}
	return &placed, nil
}

// HeatMapKey is the key of the measure, and the kind of its jobs.
const HeatMapKey = "heatmap"

// Options are those of its run.
func (m *HeatMap) Options(t Tier, model *Model) heatmap.Options {
	o := heatmap.Options{Run: t.Certify.Options(model.Noise()),
		Frequencies: heatmap.Both(m.Frequencies...)}
	if len(o.Frequencies) == 0 {
		o.Frequencies = spectral.Window(15)
	}
	o.Probe.Epsilon = m.Epsilon
	return o
}

// AdaptedTo is the selection of images that a network adapts to: drawn at random for each cell,
// without their labels (Sun et al. 2021, appendix G); class-balanced in a folder that was begun so.
func (m *Model) AdaptedTo(c sweep.Cell) string {
	o := m.Adaptation()
	if m.Adapt.Sample != randomSample {
		return fmt.Sprintf("count=%d", o.Images)
	}
	return fmt.Sprintf("random=%d:%d", o.Images, crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s", o.Seed, c)))
}

// adaptImages is how many images a network adapts to (Sun et al. 2021, appendix G).
const adaptImages = 500

// Record is the numbers of a model that may predict its accuracy under shift: accuracies,
// Jacobian norm, and HFF and CD along paths; see evaluate.Record. Each model is a line of
// results/MODEL.record.jsonl, and of records.jsonl in the folder, which "certspec lines" reads.
type Record struct {
	// names, families or groups; at the severities of the tier
	Corrupt []string `yaml:"corrupt,omitempty" json:"corrupt,omitempty"`
	// Accuracy on the test parts of further kinds of data, too: field to kind. Where --data
	// KIND-groups names a file, their labels are groups of the model's classes
	// (evaluate.ReadGroups), else by --data DATA-classes, DATA the models' kind, they are judged
	// among their own classes alone (evaluate.ReadFolders).
	Sets   map[string]string    `yaml:"sets,omitempty" json:"sets,omitempty"`
	Placed map[string]RecordSet `yaml:"-" json:"placed,omitempty"` // the same as names of sets
}

// RecordSet is a further set with the file that tells its classes.
type RecordSet struct {
	Images string `json:"images"`
	Groups string `json:"groups,omitempty"`
}

// Kinds of places that are files of classes.
const (
	groupsSuffix  = "-groups"
	ClassesSuffix = "-classes"
)

// at fills in the names of the sets.
func (r *Record) at(s *Setup) (Measure, error) {
	if len(r.Sets) == 0 {
		return r, nil
	}
	placed := *r
	placed.Placed = map[string]RecordSet{}
	for field, kind := range r.Sets {
		if s.Library.data[kind].Title == "" || s.Places[kind] == "" && strings.HasPrefix(s.Library.data[kind].At,
			"folder:") {
			continue // of users who do not have it: left out of the records
		}
		_, test, err := s.Sets(kind)
		if err != nil {
			return nil, err
		}
		placed.Placed[field] = RecordSet{Images: Select(test, s.Tier.Images["record"]),
			Groups: s.Places[kind+groupsSuffix]}
	}
	return &placed, nil
}

// Cells are the corruptions of the record at the strengths of a tier.
func (r *Record) Cells(t Tier) ([]sweep.Cell, error) {
	if len(r.Corrupt) == 0 {
		return nil, nil
	}
	cells, err := tier.Shifts{Corrupt: r.Corrupt}.Cells(t)
	if err != nil {
		return nil, err
	}
	return cells[1:], nil // the set as it is, is measured anyway
}

// Labels tell groups of models apart, by RobustNets' names of the groups.
func (m Model) Labels() map[string]string {
	l := map[string]string{"group": m.Group, "seed": fmt.Sprint(m.Seed)}
	name, _, _ := strings.Cut(m.Network, "-")
	if known, ok := map[string]string{"conv8": "Conv8", "resnet18": "ResNet18", "vgg16": "VGG16"}[name]; ok {
		name = known
	}
	l["architecture"], l["augmentation"] = name, "clean"
	if m.Views != "" {
		l["augmentation"], _, _ = strings.Cut(m.Views, "(")
	}
	l["method"], l["layout"], l["sparsity"] = "dense", "globally", "0.0"
	if m.Prune != "" && m.Sparsity != nil {
		l["method"], l["sparsity"] = m.Prune, fmt.Sprint(*m.Sparsity)
		if known, ok := map[string]string{"ft": "FT", "gmp": "GMP"}[m.Prune]; ok {
			l["method"] = known
		}
		if layerwise, _ := m.PruneOptions["layerwise"].(bool); layerwise {
			l["layout"] = "layerwise"
		}
	}
	return l
}

// ImageNet is the kind of data whose corrupted images are pictures in folders
// FOLDER/CORRUPTION/SEVERITY/CLASS, of 224×224 pixels.
const ImageNet = "imagenet"

// ImageNetCell names the pictures of a cell of the published files.
func ImageNetCell(folder string, c sweep.Cell) string {
	return fmt.Sprintf("folder:%s[crop=224,channels=rgb]", filepath.Join(folder, c.Corruption, fmt.Sprint(c.Severity)))
}

// CIFAROf says whose classes a kind of data has: "cifar10" of cifar10 and cifar10-…, "cifar100" likewise; "" of others.
func CIFAROf(kind string) string {
	if name, _, _ := strings.Cut(kind, "-"); name == "cifar10" || name == "cifar100" {
		return name
	}
	return ""
}

// OfficialSuffix makes the kind of the files of corrupted images that others published, as in
// cifar10-c. There are none of CIFAR-F.
const OfficialSuffix = "-c"
