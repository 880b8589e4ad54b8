package train

import (
	"math/rand/v2"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/pixel"
)

// What is done to every view of an image.
const (
	NoneAug        = "none"
	CropFlip       = "crop-flip"        // zero padding by 4, random crop, flip with probability 1/2: drawn for each view, after its augmentation
	CropFlipShared = "crop-flip-shared" // the same once for an image, before its views are made
)

// Augmentations of Options.Augment.
func Augmentations() []string { return []string{NoneAug, CropFlip, CropFlipShared} }

// view writes a view of an image, without noise, to out.
func (p *plan) view(epoch, member, view int, random *rand.Rand, out []float32) error {
	recipe, shape := p.run.Recipe, p.images.Shape
	augmented := p.options.Views != nil && (view > 0 || p.needs.Views == 1)
	if recipe.Augment == NoneAug && !augmented {
		scale(p.images.Image(member), out)
		return nil
	}
	values := make([]float32, len(out))
	scale(p.images.Image(member), values)
	if recipe.Augment == CropFlipShared {
		if view > 0 {
			random = stream(recipe.Seed, imageStream, epoch, member, 0)
		}
		cropFlip(values, shape, random, out)
		copy(values, out)
		clear(out)
	}
	if augmented {
		address := augment.Address{Seed: recipe.Seed, Epoch: uint64(epoch), Image: uint64(p.images.IDs[member]), View: uint64(view)}
		if err := p.options.Views.Apply(augment.Image{Shape: shape, Values: values}, augment.NewStream(address)); err != nil {
			return err
		}
	}
	if recipe.Augment == CropFlip {
		cropFlip(values, shape, random, out)
	} else {
		copy(out, values)
	}
	return nil
}

func scale(pixels []uint8, out []float32) {
	for i, v := range pixels {
		out[i] = float32(v) / 255
	}
}

// cropFlip pads the image with 4 black pixels on each side, cuts a random window of the
// image's size out, and mirrors it left to right with probability 1/2. It writes to out, which is zero.
func cropFlip(values []float32, shape pixel.Shape, random *rand.Rand, out []float32) {
	const pad = 4
	h, w, c := shape.Height, shape.Width, shape.Channels
	down, right := random.IntN(2*pad+1)-pad, random.IntN(2*pad+1)-pad
	flip := random.IntN(2) == 1
	for i := range h {
		for j := range w {
			y, x := i+down, j+right
			if flip {
				x = w - 1 - j + right
			}
			if y < 0 || y >= h || x < 0 || x >= w {
				continue
			}
			copy(out[(i*w+j)*c:(i*w+j+1)*c], values[(y*w+x)*c:])
		}
	}
}

// noisyRows says which rows of a batch get noise; nil for all.
func (p *plan) noisyRows(epoch, at, rows int) []bool {
	if p.needs.Share == "" || p.needs.Share == method.All {
		return nil
	}
	random := stream(p.run.Recipe.Seed, shareStream, epoch, at, 0)
	noisy := make([]bool, rows)
	if p.needs.Share == method.HalfExact {
		for _, row := range random.Perm(rows)[:rows/2] {
			noisy[row] = true
		}
		return noisy
	}
	for range rows / 2 {
		noisy[random.IntN(rows)] = true
	}
	return noisy
}
