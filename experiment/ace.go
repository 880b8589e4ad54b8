package experiment

import (
	"context"
	"time"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/progress"
)

// ACEResult is the calibration of a network under attacks on its confidence (Emde et al. 2025, table 1).
type ACEResult struct {
	Epsilon  float64      `json:"epsilon"` // L∞ budget, 1 = full range
	Images   int          `json:"images"`
	Accuracy float64      `json:"accuracy"` // the same under all attacks
	Bins     int          `json:"bins"`
	AdaECE   float64      `json:"adaece"` // without an attack
	Attacks  []ACEOutcome `json:"attacks"`
}

// ACEOutcome is one attack.
type ACEOutcome struct {
	Attack string  `json:"attack"` // (η,ω)
	AdaECE float64 `json:"adaece"`
	Mean   float64 `json:"mean_confidence"`
}

// bins are those of AdaECE; 15 where a table does not say how many.
func (m *ACEMeasure) bins() int {
	if m.Bins == 0 {
		return 15
	}
	return m.Bins
}

// attack attacks the confidences of a network.
func (r *runner) attack(ctx context.Context, j Job) error {
	t, of := r.Manifest.Tier.Attack, j.table.Measure.ACE
	m, err := modelfile.Read(modelPath(r.options.Folder, j.Model))
	if err != nil {
		return err
	}
	d, err := r.set(with(j.Model.Test, t.Images))
	if err != nil {
		return err
	}
	images, err := d.Load(ctx)
	if err != nil {
		return err
	}
	b, err := backend.OpenForTraining(r.options.Training)
	if err != nil {
		return err
	}
	attacks := attack.ACEAttacks(of.Epsilon)
	for i := range attacks {
		attacks[i].Steps = t.Steps
	}
	start := time.Now()
	found, err := attack.Confidences(ctx, b, m, images, attacks, func(done int) {
		s := progress.State{Task: "attacks on confidences", Done: float64(done), Total: float64(images.Len()), Unit: "images"}
		s.Rate = s.Done / time.Since(start).Seconds()
		s.Left = time.Duration((s.Total - s.Done) / s.Rate * float64(time.Second))
		r.progress(s)
	})
	if err != nil {
		return err
	}
	result := &ACEResult{Epsilon: of.Epsilon, Images: images.Len(), Bins: of.bins()}
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
		result.Attacks = append(result.Attacks, ACEOutcome{name, ece, mean})
	}
	if err := each.write(resultPath(r.options.Folder, j.Model, ".attacks.csv")); err != nil {
		return err
	}
	return writeJSON(resultPath(r.options.Folder, j.Model, ".attacks.json"), result)
}
