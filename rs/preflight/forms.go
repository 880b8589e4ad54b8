package preflight

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/bound"
)

// form is a way in which images might have been meant to enter the model: value v of
// channel c, in [0, 1], becomes (scale·v − mean[c])/deviation[c], of the channel that stands
// there after a reversal of their order.
type form struct {
	name            string // what the model seems to expect
	advice          string
	channels        int // of the images that it is for; 0: any
	reversed        bool
	scale           float64
	mean, deviation []float64 // one for all channels, or one for each
}

// candidates are the usual forms of public models. The statistics are those that their training
// scripts state for the training sets.
var candidates = []form{
	{name: "its channels in the order blue, green, red", channels: 3, reversed: true, scale: 1,
		advice: "give the model its channel order (for an ONNX file \"channel_order\": \"bgr\" in the card beside it)"},
	{name: "values from 0 to 255 and not from 0 to 1", scale: 255,
		advice: "give the model its scale (for an ONNX file \"scale\": 255 in the card beside it)"},
	{name: "values that are 255 times smaller", scale: 1. / 255,
		advice: "take away one of two scalings: images of certspec are in 0 to 1 before the model's own scale is applied"},
	{name: "values from −1 to 1", scale: 1, mean: []float64{0.5}, deviation: []float64{0.5}, advice: normalise},
	{name: "images normalised by the statistics of CIFAR-10", channels: 3, scale: 1, mean: []float64{0.4914, 0.4822, 0.4465}, deviation: []float64{0.2023, 0.1994, 0.2010}, advice: normalise},
	{name: "images normalised by the statistics of ImageNet", channels: 3, scale: 1, mean: []float64{0.485, 0.456, 0.406}, deviation: []float64{0.229, 0.224, 0.225}, advice: normalise},
	{name: "images normalised by the statistics of MNIST", channels: 1, scale: 1, mean: []float64{0.1307}, deviation: []float64{0.3081}, advice: normalise},
	{name: "images with black and white exchanged", scale: -1, mean: []float64{-1}, advice: "invert the images, or train on them as they are"},
}

const normalise = "put the normalisation between noise and model (\"mean\" and \"std\" in the card beside an ONNX file, --input for certspec's networks)"

// apply writes an image in this form.
func (f *form) apply(image []uint8, channels int, out []float32) {
	pick := func(values []float64, c int, missing float64) float64 {
		if len(values) == 0 {
			return missing
		}
		return values[min(c, len(values)-1)]
	}
	for i := range image {
		c := i % channels
		from := i
		if f.reversed {
			from = i - c + channels - 1 - c
		}
		v := float64(image[from]) / pixel.Steps
		out[i] = float32((f.scale*v - pick(f.mean, c, 0)) / pick(f.deviation, c, 1))
	}
}

// tried is a form with the answers to it.
type tried struct {
	form
	answers []int32
}

// forms asks the model again in every form that its images can have. It does nothing without
// labels. A model that takes grid images alone refuses some.
func (p *pilot) forms(ctx context.Context) (all []tried, refused error) {
	if p.labelled() == 0 {
		return nil, nil
	}
	for _, f := range candidates {
		if f.channels != 0 && f.channels != p.info.Shape.Channels {
			continue
		}
		answers, err := p.classify(ctx, true, func(i int, _ []int16, real []float32) {
			f.apply(p.images.Image(i), p.info.Shape.Channels, real)
		})
		if err != nil {
			refused = err
			continue
		}
		all = append(all, tried{f, answers})
	}
	return all, refused
}

// better reports whether answers are right more often than those to the images as they are, beyond
// chance: by the two-sided sign test on the images where just one of the two is right.
func (p *pilot) better(answers func(i int) int32) (bool, error) {
	const level = 0.001 / 8 // for all forms together
	gained, lost := 0, 0
	for i, label := range p.images.Labels {
		was, is := int(p.classes[i]) == label, int(answers(i)) == label
		switch {
		case label < 0 || was == is:
		case is:
			gained++
		default:
			lost++
		}
	}
	if gained <= lost {
		return false, nil
	}
	value, err := bound.TopTwoPValue(gained, lost)
	return value <= level, err
}

// checkForm looks for a form that the model knows better.
func (p *pilot) checkForm(forms []tried, refused error) Check {
	c := Check{Name: "channel order, scale and normalisation", Verdict: OK}
	switch {
	case len(forms) == 0 && refused != nil:
		c.Found = fmt.Sprintf("Not checked: the model refuses images off the grid (%v).", refused)
		return c
	case len(forms) == 0:
		c.Found = "Not checked: the images have no labels."
		return c
	}
	best, right := -1, p.right(p.classes)
	for i, f := range forms {
		is, err := p.better(func(i int) int32 { return f.answers[i] })
		if err == nil && is && (best < 0 || p.right(f.answers) > p.right(forms[best].answers)) {
			best = i
		}
	}
	n := float64(p.labelled())
	if best < 0 {
		c.Found = fmt.Sprintf("None of %d other forms of the images is classified better than the images as they are.", len(forms))
		return c
	}
	now := p.right(forms[best].answers)
	c.Verdict = Warning
	if float64(now-right) >= 0.2*n {
		c.Verdict = Failure
	}
	c.Found = fmt.Sprintf("The model seems to expect %s: so %.0f %% are right, and %.0f %% as it is now.", forms[best].name, 100*float64(now)/n, 100*float64(right)/n)
	c.Advice = sentence(forms[best].advice)
	return c
}
