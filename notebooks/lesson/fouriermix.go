package lesson

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// Chain is the view of an image by one chain of FourierMix alone: its spectral part only, with one
// amplitude severity and one phase severity.
func Chain(shape pixel.Shape, image []uint8, amplitude, phase float64, seed uint64) []uint8 {
	f := augment.FourierMix{Amplitude: []float64{amplitude}, Phase: []float64{phase}, Chains: 1}
	d := nb.Must(f.Draw(shape, augment.NewStream(augment.Address{Seed: seed})))
	d.Keep, d.Chains[0].Weight, d.Chains[0].Spectral = 0, 1, 1
	return Mixed(f, d, shape, image, 0, nil)
}

// Steps are the views that lead from an image to one by FourierMix: each chain alone, their
// mixture, and the mixture with the image itself.
func Steps(shape pixel.Shape, image []uint8, f augment.FourierMix, d *augment.FourierMixDraw) nb.Row {
	row := nb.Row{Images: [][]uint8{image}, Words: []string{"image"}}
	sum := 0.0
	for i, c := range d.Chains {
		sum += c.Weight
		row.Words = append(row.Words, fmt.Sprintf("chain %d\nw = %.2f", i+1, c.Weight))
		c.Weight = 1
		one := &augment.FourierMixDraw{Chains: []augment.FourierMixChain{c}}
		row.Images = append(row.Images, Mixed(f, one, shape, image, 0, nil))
	}
	nb.Assert(math.Abs(sum-1) < 1e-12, "the weights of the chains sum to %g", sum)
	row.Images = append(row.Images, Mixed(f, d, shape, image, 0, nil), Mixed(f, d, shape, image, d.Keep, nil))
	row.Words = append(row.Words, "mixture", fmt.Sprintf("view\nm = %.2f", d.Keep))
	return row
}

// ChangeByFrequency is the mean amplitude of what an augmentation changes of the images, ring by
// ring of frequency, divided by the images' own.
func ChangeByFrequency(images *dataset.Images, name string, a augment.Augmentation) nb.Line {
	of := nb.Must(spectral.MeanSpectrum(nb.Context(), spectral.Bytes(images.Shape, images.Pixels),
		nil)).Amplitude.Profile()
	views, size := make([]uint8, len(images.Pixels)), images.Shape.Len()
	nb.Check(augment.Views(nb.Context(), a, images.Shape, images.Len(), 0,
		func(i int, dst []float32) error { augment.FromBytes(dst, images.Image(i)); return nil },
		func(i int) augment.Address { return augment.Address{Image: uint64(images.IDs[i])} },
		func(i int, view []float32) error { augment.ToBytes(views[i*size:(i+1)*size], view); return nil }))
	changed := nb.Must(spectral.MeanSpectrum(nb.Context(), nb.Must(spectral.Difference(images.Shape, views,
		images.Pixels)), nil)).Amplitude.Profile()
	line := nb.Line{Name: name}
	for k, ring := range changed {
		line.X, line.Y = append(line.X, float64(ring.Frequency)), append(line.Y, ring.Mean/of[k].Mean)
	}
	return line
}

// kl is the divergence of two probabilities of one of two classes.
func kl(p, q float64) float64 { return p*math.Log(p/q) + (1-p)*math.Log((1-p)/(1-q)) }

// Divergence is, for a network of two classes with the given logit at the image, which noise
// spreads by κ: the mean divergence of the answers under two noises from their mean, by 20,000
// drawn pairs for each κ, and the certified radius in units of 10 σ. It checks that the divergence
// grows with κ.
func Divergence(logit float64) (divergence, radius nb.Line) {
	const pairs = 20_000
	divergence.Name, radius.Name = "divergence between two noises, nats", "certified radius / (10 σ)"
	sigmoid := func(z float64) float64 { return min(max(1/(1+math.Exp(-z)), 1e-12), 1-1e-12) }
	for k := 4; k <= 60; k += 2 {
		kappa, random, sum := float64(k)/10, rand.New(rand.NewPCG(1, 2)), 0.0
		for range pairs {
			p, q := sigmoid(logit+kappa*random.NormFloat64()), sigmoid(logit+kappa*random.NormFloat64())
			middle := (p + q) / 2
			sum += (kl(p, middle) + kl(q, middle)) / 2 / pairs
		}
		divergence.X, divergence.Y = append(divergence.X, kappa), append(divergence.Y, sum)
		radius.X, radius.Y = append(radius.X, kappa), append(radius.Y, logit/kappa/10)
	}
	nb.Assert(slices.IsSorted(divergence.Y), "the divergence does not grow with κ")
	return divergence, radius
}

// Answers are the probabilities of class 0 that a network gives to a view under two noises.
type Answers struct {
	View          string
	First, Second float64
}

// HCRByHand computes the loss of hierarchical consistency of one image of class 0, whose first view
// is itself: a table by view, a table of the terms, and the loss.
func HCRByHand(lambda, eta float64, views ...Answers) (byView, terms *nb.Tabular, loss float64) {
	byView = nb.Columns("view", "p under noise 1", "p under noise 2", "mean of the view", "within the view",
		"between: KL(view ‖ all)")
	all, count := 0.0, float64(len(views))
	for _, v := range views {
		all += (v.First + v.Second) / 2 / count
	}
	between, within := 0.0, 0.0
	for _, v := range views {
		mean := (v.First + v.Second) / 2
		noises, from := (kl(v.First, mean)+kl(v.Second, mean))/2, kl(mean, all)
		between, within = between+lambda*from/count, within+eta*noises/count
		byView.Add(v.View, v.First, v.Second, mean, noises, from)
	}
	right := -(math.Log(views[0].First) + math.Log(views[0].Second)) / 2
	loss = right + between + within
	return byView, nb.Facts("mean of all views", all, "cross-entropy of the image", right, "λ · between views", between,
		"η · within views", within, "HCR loss by hand", loss), loss
}
