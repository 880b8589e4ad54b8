package measure

import (
	"cmp"
	"context"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/study/tier"
)

func init() { add(20, func() Measure { return &ACE{} }) }

// ACE is the calibration of networks under attacks on their confidences: results/MODEL.attacks.json,
// and the confidences behind it, image by image, in results/MODEL.attacks.csv. It needs the network
// itself: finished rows have none.
type ACE struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // L∞ budget, 1 = full range
	Bins    int     `yaml:"bins,omitempty" json:"bins,omitempty"`
}

// Endings of its results.
const (
	AttacksFile   = ".attacks.json"
	AttacksImages = ".attacks.csv"
)

// Attacked is the calibration of a network under attacks on its confidence (Emde et al. 2025, table 1).
type Attacked struct {
	Epsilon  float64            `json:"epsilon"` // L∞ budget, 1 = full range
	Images   int                `json:"images"`
	Accuracy float64            `json:"accuracy"` // the same under all attacks
	Bins     int                `json:"bins"`
	AdaECE   float64            `json:"adaece"` // without an attack
	Attacks  []ConfidenceAttack `json:"attacks"`
}

// ConfidenceAttack is one attack.
type ConfidenceAttack struct {
	Attack string  `json:"attack"` // (η,ω)
	AdaECE float64 `json:"adaece"`
	Mean   float64 `json:"mean_confidence"`
}

const aceSteps = 100 // of an attack on confidences; see package ace

// BinCount is the number of bins of AdaECE; 15 where a table does not say how many.
func (a *ACE) BinCount() int { return cmp.Or(a.Bins, 15) }

func (*ACE) Name() string { return "ace" }

func (*ACE) Jobs(_ Place, m *Model) ([]Job, error) {
	if m.File != "" {
		return nil, nil
	}
	return []Job{{Kind: "attack", Model: m}}, nil
}

func (a *ACE) Done(p Place, j Job) (bool, error) {
	var found Attacked
	ok, err := ReadJSON(p.Result(j.Model, AttacksFile), &found)
	return ok && found.Epsilon == a.Epsilon, err
}

func (*ACE) Cost(c Costs, j Job) error {
	t := c.Tier().Attack
	n, err := c.Size(tier.Select(j.Model.Test, t.Images))
	if err != nil {
		return err
	}
	return c.Training(j.Model, 4*n*float64(cmp.Or(t.Steps, aceSteps)+1))
}

func (a *ACE) Run(ctx context.Context, t Tools, j Job) error {
	path, err := t.Path(ctx, j.Model)
	if err != nil {
		return err
	}
	data, err := t.Set(tier.Select(j.Model.Test, t.Tier().Attack.Images))
	if err != nil {
		return err
	}
	images, err := data.Load(ctx)
	if err != nil {
		return err
	}
	attacks := ace.Attacks(a.Epsilon)
	for i := range attacks {
		attacks[i].Steps = t.Tier().Attack.Steps
	}
	found, err := t.Confidences(ctx, path, images, attacks)
	if err != nil {
		return err
	}
	result := &Attacked{Epsilon: a.Epsilon, Images: images.Len(), Bins: a.BinCount()}
	each := &PerImage{Images: images.IDs}
	for k, p := range found {
		correct := make([]bool, len(p.Classes))
		hits, mean := 0, 0.0
		for i, c := range p.Classes {
			if correct[i] = c == images.Labels[i]; correct[i] {
				hits++
			}
			mean += p.Confidence[i] / float64(len(p.Classes))
		}
		ece, err := calib.AdaECE(correct, p.Confidence, result.Bins)
		if err != nil {
			return err
		}
		name := "clean"
		if k > 0 {
			name = attacks[k-1].String()
		}
		copy(each.AddColumn(name), p.Confidence)
		if k == 0 {
			each.Correct = correct
			result.Accuracy, result.AdaECE = float64(hits)/float64(len(correct)), ece
			continue
		}
		result.Attacks = append(result.Attacks, ConfidenceAttack{Attack: name, AdaECE: ece, Mean: mean})
	}
	if err := each.keep(t, j.Model, AttacksImages); err != nil {
		return err
	}
	return keepJSON(t, t.Result(j.Model, AttacksFile), result)
}
