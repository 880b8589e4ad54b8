package preflight

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/bound"
)

// checkClasses compares the classes of model and data.
func (p *pilot) checkClasses(all *dataset.Images, names []string) Check {
	c := Check{Name: "classes", Verdict: OK}
	highest := -1
	for _, label := range all.Labels {
		highest = max(highest, label)
	}
	if highest >= p.info.Classes {
		c.Verdict = Failure
		c.Found = fmt.Sprintf("The data has the label %d, and the model only the classes 0 to %d.", highest,
			p.info.Classes-1)
		c.Advice = "Choose the data set that the model was trained for, or leave out the images of other classes."
		return c
	}
	if len(names) == len(all.Classes) {
		var wrong []string
		for i, name := range names {
			if !alike(name, all.Classes[i]) {
				wrong = append(wrong, fmt.Sprintf("%d is %q in the model and %q in the data", i, name, all.Classes[i]))
			}
		}
		if len(wrong) > 0 {
			c.Verdict = Warning
			c.Found = fmt.Sprintf("%d of %d classes have other names: %s.", len(wrong), len(names),
				strings.Join(wrong[:min(3, len(wrong))], "; "))
			c.Advice = "Make sure that both number their classes alike."
			return c
		}
	}
	if n := len(all.Classes); n > 0 && n != p.info.Classes {
		c.Verdict = Warning
		c.Found = fmt.Sprintf("The model has %d classes, the data %d.", p.info.Classes, n)
		c.Advice = "Make sure that both number their classes alike."
		return c
	}
	c.Found = fmt.Sprintf("Model and data have %d classes.", p.info.Classes)
	if len(all.Warnings) > 0 {
		c.Verdict = Warning
		c.Found += " Of the data: " + strings.Join(all.Warnings, "; ") + "."
		c.Advice = "Choose another subset where the result is to stand for the whole data set."
	}
	return c
}

// alike compares names of classes but for case and punctuation.
func alike(a, b string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(" _-/.", r) {
				return -1
			}
			return r
		}, strings.ToLower(s))
	}
	return plain(a) == plain(b)
}

// checkFinite counts outputs that are NaN or infinite.
func (p *pilot) checkFinite() Check {
	c := Check{Name: "finite outputs", Verdict: OK}
	clean, noisy := 0, 0
	for i, class := range p.classes {
		if class == classifier.Miss {
			clean++
		}
		noisy += p.votes[i][classifier.Miss]
	}
	samples := len(p.classes) * p.opt.Block
	if clean == 0 && noisy == 0 {
		c.Found = "All outputs are finite."
		return c
	}
	c.Verdict = Warning
	if clean > 0 || 100*noisy > samples {
		c.Verdict = Failure
	}
	c.Found = fmt.Sprintf("Outputs are NaN or infinite for %d of %d images and %s of %s noise samples; such a noise "+
		"sample never counts for a class.", clean, len(p.classes), printable.Count(noisy), printable.Count(samples))
	c.Advice = "Look for weights that are not finite, a division by zero, or an overflow of 16-bit numbers in the " +
		"model."
	return c
}

// checkSpread looks for a model that always answers the same.
func (p *pilot) checkSpread() Check {
	c := Check{Name: "different answers", Verdict: OK}
	clean, noisy, labels := map[int32]bool{}, map[int32]bool{}, map[int]bool{}
	for i, class := range p.classes {
		clean[class] = true
		labels[p.images.Labels[i]] = true
		for vote := range p.votes[i] {
			noisy[vote] = true
		}
	}
	var answer int32
	for class := range noisy {
		answer = class
	}
	name := "no class"
	if answer != classifier.Miss {
		name = "class " + p.name(int(answer))
	}
	switch {
	case len(p.classes) < 2 || len(labels) == 1 && p.labelled() > 0:
		c.Found = "Not checked: all images that were looked at have one label."
	case len(clean) == 1 && len(noisy) == 1:
		c.Verdict = Failure
		c.Found = fmt.Sprintf("The model answers %s to every image.", name)
		c.Advice = "Check the scale of the images that it expects, and that its trained weights were loaded."
	case len(noisy) == 1:
		c.Verdict = Failure
		c.Found = fmt.Sprintf("Under noise the model answers %s to every image.", name)
		c.Advice = trainUnderNoise(p.opt.Sigma)
	case len(clean) == 1:
		c.Verdict = Warning
		c.Found = fmt.Sprintf("The model answers one class to all %d images as they are, and others under noise.",
			len(p.classes))
		c.Advice = "Look at more images with --images; if it stays so, check the scale of the images that it expects."
	default:
		c.Found = fmt.Sprintf("The model answers %d classes to %d images.", len(clean), len(p.classes))
	}
	return c
}

// checkAccuracy compares the accuracy on the images as they are with guessing the most frequent label.
func (p *pilot) checkAccuracy() Check {
	c := Check{Name: "accuracy", Verdict: OK}
	n := p.labelled()
	if n == 0 {
		c.Found = "Not checked: the images have no labels."
		return c
	}
	c.Found = fmt.Sprintf("%d of %d images as they are get the class of their label.", p.right(p.classes), n)
	if chance, guessing := p.guessing(); guessing {
		c.Verdict = Failure
		c.Found += fmt.Sprintf(" That is no better than guessing (%.0f %%).", 100*chance)
		c.Advice = "See the checks of form and labels; where they find nothing, the model was trained for something " +
			"else, or not yet."
	}
	return c
}

// guessing reports whether the accuracy on the images as they are is not, with 99 % confidence,
// above that of guessing the most frequent label. Nothing is said of images of one label.
func (p *pilot) guessing() (chance float64, is bool) {
	n := p.labelled()
	counts, frequent := map[int]int{}, 0
	for _, label := range p.images.Labels {
		if label >= 0 {
			counts[label]++
			frequent = max(frequent, counts[label])
		}
	}
	if len(counts) < 2 {
		return 0, false
	}
	chance = max(float64(frequent)/float64(n), 1/float64(p.info.Classes))
	lower, err := bound.Lower(p.right(p.classes), n, 0.01)
	return chance, err != nil || lower.P <= chance
}

// checkNoise compares the noise samples with the images as they are.
func (p *pilot) checkNoise() Check {
	c := Check{Name: "noise", Verdict: OK}
	from, to := 1., p.agreement()
	c.Found = fmt.Sprintf("%.0f %% of noise samples at σ = %g get the class of their image without noise.", 100*to,
		p.opt.Sigma)
	if p.labelled() > 0 {
		from, to = p.accuracies()
		c.Found = fmt.Sprintf("%.0f %% of images and %.0f %% of noise samples at σ = %g are classified right.",
			100*from, 100*to, p.opt.Sigma)
	}
	if chance, guessing := p.guessing(); guessing {
		c.Verdict = Failure
		c.Found += fmt.Sprintf(" Without noise already, the model does no better than guessing (%.0f %%), so that "+
			"nothing can be said of noise.", 100*chance)
		c.Advice = "Mend the accuracy on the images as they are first."
		return c
	}
	switch {
	case to < 0.5*from:
		c.Verdict = Failure
	case to < 0.75*from:
		c.Verdict = Warning
	default:
		return c
	}
	c.Found += " The model does not seem to be trained for this noise."
	c.Advice = trainUnderNoise(p.opt.Sigma)
	return c
}

func trainUnderNoise(sigma float64) string {
	return fmt.Sprintf("Train or fine-tune the model on images with Gaussian noise of σ = %g (certspec train "+
		"--sigma %[1]g), set a denoiser before it (certspec train --method denoise, certspec join), or certify at a "+
		"smaller σ.", sigma)
}

// sentence makes a sentence of a clause.
func sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
