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
	augmented := p.augmented(view)
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
		drawWindow(random).cut(values, shape, out)
		copy(values, out)
		clear(out)
	}
	if augmented {
		stream := augment.NewStream(p.address(epoch, member, view))
		if err := p.views.Apply(augment.Image{Shape: shape, Values: values}, stream); err != nil {
			return err
		}
	}
	if recipe.Augment == CropFlip {
		drawWindow(random).cut(values, shape, out)
	} else {
		copy(out, values)
	}
	return nil
}

// augmented reports whether a view is one by the augmentation of the run.
func (p *plan) augmented(view int) bool {
	return p.views != nil && (view > 0 || p.needs.Views == 1)
}

// address is that of a view's random numbers.
func (p *plan) address(epoch, member, view int) augment.Address {
	return augment.Address{Seed: p.run.Recipe.Seed, Epoch: uint64(epoch), Image: uint64(p.images.IDs[member]), View: uint64(view)}
}

func scale(pixels []uint8, out []float32) {
	for i, v := range pixels {
		out[i] = float32(v) / 255
	}
}

// window is a random crop and flip: the image is padded with 4 black pixels on each side, a window of the image's size is cut out,
// moved by down and right from the middle, and mirrored left to right with probability 1/2.
type window struct {
	down, right int
	flip        bool
}

func drawWindow(random *rand.Rand) window {
	const pad = 4
	down, right := random.IntN(2*pad+1)-pad, random.IntN(2*pad+1)-pad
	return window{down, right, random.IntN(2) == 1}
}

// cut writes the window to out, which is zero.
func (v window) cut(values []float32, shape pixel.Shape, out []float32) {
	h, w, c := shape.Height, shape.Width, shape.Channels
	for i := range h {
		for j := range w {
			y, x := i+v.down, j+v.right
			if v.flip {
				x = w - 1 - j + v.right
			}
			if y < 0 || y >= h || x < 0 || x >= w {
				continue
			}
			copy(out[(i*w+j)*c:(i*w+j+1)*c], values[(y*w+x)*c:])
		}
	}
}

// inverse is the window as a map of package fouriermix.
func (v window) inverse(shape pixel.Shape) [6]float64 {
	m := [6]float64{1, 0, float64(v.right), 0, 1, float64(v.down)}
	if v.flip {
		m[0], m[2] = -1, float64(shape.Width-1+v.right)
	}
	return m
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
