package experiment

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs/compare"
)

// attackMeasure is the calibration of networks under attacks on their confidences:
// results/MODEL.attacks.json, and the confidences behind it, image by image, in
// results/MODEL.attacks.csv. It needs the network itself: finished rows have none.
type attackMeasure struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // L∞ budget, 1 = full range
	Bins    int     `yaml:"bins,omitempty" json:"bins,omitempty"`
}

func (confidenceAttackJobs) Jobs(_ *Place, model *Model) ([]Job, error) {
	if model.File != "" {
		return nil, nil
	}
	return []Job{{Kind: "attack", Model: model}}, nil
}

func (a confidenceAttackJobs) Done(p *Place, j Job) (bool, error) {
	var found attackResult
	ok, err := readJSON(p.Result(j.Model, ".attacks.json"), &found)
	return ok && found.Epsilon == a.Epsilon, err
}

func (confidenceAttackJobs) Cost(c *Costs, j Job) error {
	t := c.Manifest.Tier.Attack
	n, err := c.Size(with(j.Model.Test, t.Images))
	if err != nil {
		return err
	}
	steps := t.Steps
	if steps == 0 {
		steps = aceSteps
	}
	return c.Training(j.Model, 4*n*float64(steps+1))
}

// aceSteps of an attack on confidences; see attack.ACE.
const aceSteps = 100

func (a confidenceAttackReader) Fill(f *TableBuilder, out *Filled) ([]string, error) {
	for i := range out.Lines {
		var of []*attackResult
		for _, name := range out.Lines[i].Models {
			one := &attackResult{}
			if ok, err := readJSON(f.Result(f.Manifest.Model(name), ".attacks.json"), one); err != nil {
				return nil, err
			} else if ok {
				of = append(of, one)
			}
		}
		out.Lines[i].ACE = meanACE(of)
		if err := f.spreadAttacks(&out.Lines[i], a.bins()); err != nil {
			return nil, err
		}
	}
	b := f.bootstrap
	return append([]string{
		fmt.Sprintf("Attacks (η,ω) within ε = %.4f in the L∞ norm, which leave the predictions as they are; "+
			"calibration error over bins of equal count, images %s.", a.Epsilon, f.Manifest.Tier.Attack.Images),
		fmt.Sprintf("Low and high of what an attack adds: %g %% intervals of the bootstrap over images (%d "+
			"resamples, seed %d), with Student's t over seeds where there are two or more, paired by image, of the "+
			"gaps of the bins: percentiles of a calibration error, which resampling raises, would exclude the "+
			"estimate itself. They err on the wide side.", 100*b.Confidence, b.Resamples, b.Seed),
	}, trainedAgainst(f, out)...), nil
}

// trainedAgainst says against which attacks the networks of rows were trained, where they were.
func trainedAgainst(f *TableBuilder, out *Filled) (notes []string) {
	for _, l := range out.Lines {
		if len(l.Models) == 0 || l.ACE == nil {
			continue
		}
		m := f.Manifest.Model(l.Models[0])
		made, err := method.With(m.Method, m.Options)
		if err != nil {
			continue // a method of another program
		}
		if a := made.Needs().Adversary; a != nil {
			norm := map[attack.Norm]string{"": "Euclidean", attack.L2: "Euclidean", attack.LInf: "L∞"}[a.Norm]
			notes = append(notes, fmt.Sprintf("%s: trained against attacks in the %s norm, ε = %.4g.", l.Title, norm,
				a.Epsilon))
		}
	}
	return notes
}

func (confidenceAttackReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table, string)) {
	if len(f.Lines) > 0 && f.Lines[0].ACE != nil {
		add(f.attacks(columns, head), "adaptive calibration error")
		add(f.raised(columns, head), "what each attack adds to the adaptive calibration error")
	}
}

func (f *Filled) raised(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "attack", "difference", "its low", "its high", "p")}
	var shown []*compare.Difference
	for _, l := range f.Lines {
		for _, a := range attack.ACEAttacks(0) {
			shown = append(shown, l.Raised[a.String()])
		}
	}
	corrected, notes := together(f.confidence, shown)
	t.Notes = notes
	for _, l := range f.Lines {
		for _, a := range attack.ACEAttacks(0) {
			t.Rows = append(t.Rows, append(append(head(l), a.String()), differenceCells(l.Raised[a.String()],
				corrected)...))
		}
	}
	return t
}

func (f *Filled) attacks(columns []string, head func(FilledLine) []any) *table.Table {
	names := []string{"accuracy", "clean"}
	for _, a := range attack.ACEAttacks(0) {
		names = append(names, a.String())
	}
	t := &table.Table{Columns: append(slices.Clone(columns), names...)}
	for _, l := range f.Lines {
		row := head(l)
		for _, name := range names {
			if v := l.ACE[name]; v != nil {
				row = append(row, rounded(v.Mean, 4))
			} else {
				row = append(row, table.None)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// attackResult is the calibration of a network under attacks on its confidence (Emde et al. 2025, table 1).
type attackResult struct {
	Epsilon  float64         `json:"epsilon"` // L∞ budget, 1 = full range
	Images   int             `json:"images"`
	Accuracy float64         `json:"accuracy"` // the same under all attacks
	Bins     int             `json:"bins"`
	AdaECE   float64         `json:"adaece"` // without an attack
	Attacks  []attackOutcome `json:"attacks"`
}

// attackOutcome is one attack.
type attackOutcome struct {
	Attack string  `json:"attack"` // (η,ω)
	AdaECE float64 `json:"adaece"`
	Mean   float64 `json:"mean_confidence"`
}

// bins are those of AdaECE; 15 where a table does not say how many.
func (m *attackMeasure) bins() int {
	if m.Bins == 0 {
		return 15
	}
	return m.Bins
}

// Do attacks the confidences of a network.
func (a confidenceAttackRunner) Do(ctx context.Context, r *Runner, j Job) error {
	t := r.Manifest.Tier.Attack
	path, err := r.path(ctx, j.Model)
	if err != nil {
		return err
	}
	m, err := modelfile.Read(path)
	if err != nil {
		return err
	}
	images, err := r.Load(ctx, with(j.Model.Test, t.Images))
	if err != nil {
		return err
	}
	b, err := backend.OpenForTraining(r.Training())
	if err != nil {
		return err
	}
	attacks := attack.ACEAttacks(a.Epsilon)
	for i := range attacks {
		attacks[i].Steps = t.Steps
	}
	found, err := attack.Confidences(ctx, b, m, images, attacks, r.Progress)
	if err != nil {
		return err
	}
	result := &attackResult{Epsilon: a.Epsilon, Images: images.Len(), Bins: a.bins()}
	each := &perImage{images: images.IDs}
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
		copy(each.add(name), p.Confidence)
		if k == 0 {
			each.correct = correct
			result.Accuracy, result.AdaECE = float64(hits)/float64(len(correct)), ece
			continue
		}
		result.Attacks = append(result.Attacks, attackOutcome{name, ece, mean})
	}
	if err := each.write(r.Result(j.Model, ".attacks.csv")); err != nil {
		return err
	}
	return keepJSON(r.Result(j.Model, ".attacks.json"), result)
}
