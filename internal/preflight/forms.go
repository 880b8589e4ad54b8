package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/bound"
)

// form is a way in which images might have been meant to enter the model: value v in [0, 1] of a colour becomes
// (scale·v − mean)/deviation of that colour, after which the order of the channels may be reversed.
type form struct {
	name            string // what the model seems to expect
	advice          string
	reversed        bool
	scale           float64
	mean, deviation []float64 // red first; one for all colours, or one for each; none: 0 and 1
}

// normalisations are the statistics of training sets as their users state them.
var normalisations = []struct {
	of              string
	channels        int
	mean, deviation []float64
}{
	{"MNIST", 1, []float64{0.1307}, []float64{0.3081}},
	{"FashionMNIST", 1, []float64{0.2860}, []float64{0.3530}},
	{"CIFAR-10", 3, []float64{0.4914, 0.4822, 0.4465}, []float64{0.2470, 0.2435, 0.2616}},
	{"CIFAR-10 (deviations .20)", 3, []float64{0.4914, 0.4822, 0.4465}, []float64{0.2023, 0.1994, 0.2010}},
	{"CIFAR-100", 3, []float64{0.5071, 0.4865, 0.4409}, []float64{0.2673, 0.2564, 0.2762}},
	{"SVHN", 3, []float64{0.4377, 0.4438, 0.4728}, []float64{0.1980, 0.2010, 0.1970}},
	{"ImageNet", 3, []float64{0.485, 0.456, 0.406}, []float64{0.229, 0.224, 0.225}},
}

const (
	normalise = "put the normalisation between noise and model (\"mean\" and \"std\" in the card beside an ONNX " +
		"file, --input for certspec's networks)"
	once  = "take away one of two normalisations: the model, or the card beside its file, has one of its own"
	order = "give the model its channel order (for an ONNX file \"channel_order\": \"bgr\" in the card beside it)"
)

// candidates are the usual forms for images of so many channels, the simplest first, without that
// of the images as they are.
func candidates(channels int) []form {
	var all []form
	reversed := form{name: "its channels in the order blue, green, red", reversed: true, scale: 1, advice: order}
	simple := []form{
		{name: "values from 0 to 255 and not from 0 to 1", scale: 255,
			advice: "give the model its scale (for an ONNX file \"scale\": 255 in the card beside it)"},
		{name: "values that are 255 times smaller", scale: 1. / 255,
			advice: "take away one of two scalings: images of certspec are in 0 to 1 before the model's own scale " +
				"is applied"},
		{name: "values from −1 to 1", scale: 1, mean: []float64{0.5}, deviation: []float64{0.5}, advice: normalise},
		{name: "values from −1 to 1, which are made twice now", scale: 1, mean: []float64{-1}, deviation: []float64{2},
			advice: once},
		{name: "images with black and white exchanged", scale: -1, mean: []float64{-1},
			advice: "invert the images, or train on them as they are"},
	}
	if channels == 3 {
		all = append(all, reversed)
	}
	all = append(all, simple...)
	for _, n := range normalisations {
		if n.channels != channels {
			continue
		}
		twice := form{name: "images normalised once by the statistics of " + n.of + ", and not twice", scale: 1,
			advice: once}
		for c, d := range n.deviation {
			twice.mean, twice.deviation = append(twice.mean, -n.mean[c]/d), append(twice.deviation, 1/d)
		}
		all = append(all, form{name: "images normalised by the statistics of " + n.of, scale: 1, mean: n.mean,
			deviation: n.deviation, advice: normalise}, twice)
	}
	if channels != 3 {
		return all
	}
	all = append(all, form{name: "values from 0 to 255 less the means of ImageNet", scale: 255, mean: []float64{123.68,
		116.779, 103.939}, advice: normalise})
	for _, f := range slices.Clone(all[1:]) {
		f.name, f.reversed, f.advice = f.name+", its channels in the order blue, green, red", true, f.advice+"; and "+
			order
		all = append(all, f)
	}
	return all
}

// apply writes an image in this form.
func (f *form) apply(image []uint8, channels int, out []float32) {
	pick := func(values []float64, c int, missing float64) float64 {
		if len(values) == 0 {
			return missing
		}
		return values[min(c, len(values)-1)]
	}
	for i := range image {
		colour, from := i%channels, i
		if f.reversed {
			colour = channels - 1 - colour
			from = i - i%channels + colour
		}
		v := float64(image[from]) / pixel.Steps
		out[i] = float32((f.scale*v - pick(f.mean, colour, 0)) / pick(f.deviation, colour, 1))
	}
}

// tried is a form with the answers to it.
type tried struct {
	form
	answers []int32
}

type searched struct {
	forms   []tried // best first
	refused error   // of the model, where it takes no such images
}

// forms asks the model again in every usual form that its images can have. It does nothing without labels. A model that
// takes grid images alone refuses some.
func (p *pilot) forms(ctx context.Context) (s searched) {
	if p.labelled() == 0 {
		return s
	}
	size, channels := p.info.Shape.Len(), p.info.Shape.Channels
	batch := classifier.Batch{N: p.opt.Block, Real: make([]float32, p.opt.Block*size)}
	for _, f := range candidates(channels) {
		answers, err := p.ask(ctx, batch, func(k, i int) {
			f.apply(p.images.Image(i), channels, batch.Real[k*size:(k+1)*size])
		})
		if err != nil {
			s.refused = err
			continue
		}
		s.forms = append(s.forms, tried{f, answers})
	}
	slices.SortStableFunc(s.forms, func(a, b tried) int { return p.right(b.answers) - p.right(a.answers) })
	return s
}

// better is the one-sided p-value of the sign test that answers b are right no more often than a,
// on the images where just one of the two is right, and the mean gain with its 95 % interval.
func (p *pilot) better(a, b []int32, images []int) (value float64, gain resample.Estimate) {
	var gains []float64
	gained, lost := 0, 0
	for _, i := range images {
		label := p.images.Labels[i]
		if label < 0 {
			continue
		}
		was, is := int(a[i]) == label, int(b[i]) == label
		switch {
		case was == is:
			gains = append(gains, 0)
		case is:
			gained++
			gains = append(gains, 1)
		default:
			lost++
			gains = append(gains, -1)
		}
	}
	value = 1
	if gained > lost {
		if two, err := bound.TopTwoPValue(gained, lost); err == nil {
			value = two / 2
		}
	}
	estimates, err := resample.Run(context.Background(), resample.Paired(len(gains)), 1,
		func(d resample.Draw, values []float64) error {
			values[0] = 0
			for _, i := range d.First {
				values[0] += gains[i] / float64(len(d.First))
			}
			return nil
		}, resample.Options{Resamples: 1000})
	if err == nil {
		gain = estimates[0]
	}
	return value, gain
}

// formLevel is the level of the tests that another form, or order of the labels, is better, all of them together.
const formLevel = 0.0005

// checkForm looks for a form that the model knows better, and says which ones these images cannot tell apart.
func (p *pilot) checkForm(s searched) Check {
	c := Check{Name: "channel order, scale and normalisation", Verdict: OK}
	switch {
	case len(s.forms) == 0 && s.refused != nil:
		c.Found = fmt.Sprintf("Not checked: the model refuses images off the grid (%v).", s.refused)
		return c
	case len(s.forms) == 0:
		c.Found = "Not checked: the images have no labels."
		return c
	}
	all := p.spread(len(p.images.Labels))
	n, right := float64(p.labelled()), p.right(p.classes)
	best := s.forms[0]
	value, gain := p.better(p.classes, best.answers, all)
	if value > formLevel/float64(len(s.forms)) {
		c.Found = fmt.Sprintf("None of %d other forms of the images is classified better than the images as they are.",
			len(s.forms))
		return c
	}
	rivals := []tried{best}
	for _, f := range s.forms[1:] {
		if v, _ := p.better(f.answers, best.answers, all); v > 0.05 {
			rivals = append(rivals, f)
		}
	}
	now := p.right(best.answers)
	c.Verdict = Warning
	if float64(now-right) >= 0.2*n {
		c.Verdict = Failure
	}
	if len(rivals) == 1 {
		c.Found = fmt.Sprintf("The model seems to expect %s: so %.0f %% are right, and %.0f %% as it is now (gain %s).",
			best.name, 100*float64(now)/n, 100*float64(right)/n, points(gain))
		c.Advice = sentence(best.advice)
		return c
	}
	var names []string
	for _, f := range rivals {
		names = append(names, fmt.Sprintf("%s (%.0f %%)", f.name, 100*float64(p.right(f.answers))/n))
	}
	c.Found = fmt.Sprintf("The model seems to expect another form of the images: %.0f %% are right as it is now, "+
		"and up to %.0f %% (gain %s) with one of these, which %d images cannot tell apart: %s.",
		100*float64(right)/n, 100*float64(now)/n, points(gain), int(n), strings.Join(names, "; "))
	c.Advice = "Find out which of them the model was trained with. For the first: " + best.advice + "."
	return c
}

// points is a gain in accuracy in words.
func points(e resample.Estimate) string {
	return fmt.Sprintf("%.0f points, 95 %% interval %.0f to %.0f", 100*e.Value, 100*e.Interval.Low, 100*e.Interval.High)
}
