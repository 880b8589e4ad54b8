package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// notes are the caption: tier, source, data, samples, engines, where the corruptions are from.
func (f *filler) notes(t *Filled) []string {
	tier := f.manifest.Tier
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	note("Tier %s: %s.", tier.Name, tier.Title)
	if t.Source != "" {
		note("The published table: %s.", t.Source)
	}
	sets := map[string]bool{}
	networks := map[string]bool{}
	sigmas := map[string]bool{}
	for _, l := range f.table.Lines {
		for _, name := range l.Models {
			m := f.manifest.model(name)
			text := m.Test
			if m.Train != "" {
				text = m.Train + " to train, " + m.Test + " to certify"
			}
			sets[text] = true
			if m.Network != "" {
				networks[m.Network] = true
			}
			sigmas[fmt.Sprintf("%g", m.Noise())] = true
		}
	}
	note("Data: %s. Networks: %s; σ = %s.", list(sets), list(networks), list(sigmas))
	measure := f.table.Measure
	if measure.Clean || len(measure.Sweeps) > 0 {
		c := tier.Certify
		o := c.Options(1)
		alpha := o.Alpha
		if alpha == 0 {
			alpha = 0.001
		}
		note("Certified by the %s rule with at most %d noise samples of an image, α = %g, on the images %s.", c.Rule, c.N, alpha, tier.Clean)
		for k, m := range t.Metrics {
			if m.Name != "clean" && m.Main {
				for _, l := range t.Lines {
					if l.Values[k] != nil {
						note("%s: %d images in each of %d cells.", m.Name, l.Values[k].Images, len(m.Cells))
						break
					}
				}
			}
		}
	}
	if len(measure.Sweeps) > 0 {
		note("%s", f.corruptions())
	}
	b := f.bootstrap.Resolved()
	if len(t.Metrics) > 0 {
		note("Low and high: %g %% intervals of the bootstrap over images (%d resamples, seed %d) of the mean over the seeds, over images and seeds where there are two or more of these; those of differences are paired by image, over the seeds that both have. Least and largest are over the seeds.",
			100*b.Confidence, b.Resamples, b.Seed)
	}
	if measure.Calibration != nil {
		c := tier.Calibration
		note("Confidences are certified by the CDF certificate (images %s, %s rule, %d noise samples); CCE is the largest calibration error, exactly, with %d bins; ACCE what ADMM finds of it; CBS the largest Brier score.",
			c.Images, c.Certify.Rule, c.Certify.N, calibrationBins)
		if measure.Calibration.Within > 0 {
			note("Comparable accuracy: at most %g points of certified accuracy below the best model of any method, fine-tuned ones included, which favours methods that raise it.", 100*measure.Calibration.Within)
			note("Low and high of errors: %g %% basic intervals of the bootstrap over images (%d resamples, seed %d) of the models chosen, not of the choice; those of differences are paired by image.",
				100*b.Confidence, b.Resamples, b.Seed)
		}
	}
	if a := measure.ACE; a != nil {
		note("Attacks (η,ω) within ε = %.4f in the L∞ norm, which leave the predictions as they are; calibration error over bins of equal count, images %s.", a.Epsilon, tier.Attack.Images)
		note("Low and high of what an attack adds: %g %% intervals of the bootstrap over images (%d resamples, seed %d), paired by image, of the gaps of the bins: percentiles of a calibration error, which resampling raises, would exclude the estimate itself. They err on the wide side.", 100*b.Confidence, b.Resamples, b.Seed)
	}
	trained, certified := map[string]bool{}, map[string]bool{}
	for _, o := range f.origins {
		if o.Trained != "" {
			trained[o.Trained] = true
		}
		for _, c := range o.Certified {
			certified[withoutGraph(c)] = true
		}
	}
	if len(trained) > 0 {
		note("Trained on %s.", list(trained))
	}
	if len(certified) > 0 {
		note("Certified on %s.", list(certified))
	}
	return notes
}

// withoutGraph names an engine without the hash of the one network that ran on it.
func withoutGraph(engine string) string {
	before, after, found := strings.Cut(engine, ", graph ")
	if !found {
		return engine
	}
	_, rest, _ := strings.Cut(after, ", ")
	return before + ", " + rest
}

// corruptions says where corrupted images are from.
func (f *filler) corruptions() string {
	official := map[string]bool{}
	for kind, place := range f.manifest.Places {
		if strings.HasSuffix(kind, officialSuffix) {
			official[place] = true
		}
	}
	if len(official) > 0 {
		return "Corrupted images are those of the published files in " + list(official) + "; those of CIFAR-F are made by certspec."
	}
	return "Corrupted images are made by certspec from the clean ones, not those of the published files."
}

func list(of map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(of)), "; ") }
