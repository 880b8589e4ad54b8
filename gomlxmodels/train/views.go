package train

import (
	"math/rand/v2"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/pixel"
)

// What is done to every view of an image.
const (
	NoneAug        modelfile.Augmentation = "none"
	CropFlip       modelfile.Augmentation = "crop-flip"        // zero padding by 4, random crop, flip with probability 1/2: drawn for each view, after its augmentation
	CropFlipShared modelfile.Augmentation = "crop-flip-shared" // the same once for an image, before its views are made
	Crop           modelfile.Augmentation = "crop"             // as crop-flip without the flip
	CropShared     modelfile.Augmentation = "crop-shared"      // as crop-flip-shared without the flip
)

// Augmentations of Options.Augment.
func Augmentations() []modelfile.Augmentation {
	return []modelfile.Augmentation{NoneAug, CropFlip, CropFlipShared, Crop, CropShared}
}

// crops says what an augmentation crops: each view, or once the image before its views are made; and whether it flips.
func crops(augmentation modelfile.Augmentation) (each, shared, flips bool) {
	switch augmentation {
	case CropFlip:
		return true, false, true
	case CropFlipShared:
		return false, true, true
	case Crop:
		return true, false, false
	case CropShared:
		return false, true, false
	}
	return false, false, false
}

// view writes a view of an image, without noise, to out.
func (p *plan) view(epoch, member, view int, random *rand.Rand, out []float32) error {
	recipe, v := p.run.Recipe, viewing{augment: p.run.Recipe.Augment, address: p.address(epoch, member, view)}
	if p.augmented(view) {
		v.by = p.views
	}
	shared := random
	if view > 0 {
		shared = stream(recipe.Seed, imageStream, epoch, member, 0)
	}
	return v.of(p.images.Image(member), p.images.Shape, p.images.Shape, shared, random, out)
}

// viewing is how a view is made.
type viewing struct {
	augment modelfile.Augmentation // of Augmentations
	by      augment.Augmentation   // nil for none
	address augment.Address        // of its random numbers
}

// of writes a view of an image to out, which is zero. Only a crop makes the size to of another size from.
func (v viewing) of(pixels []uint8, from, to pixel.Shape, shared, random *rand.Rand, out []float32) error {
	each, before, flips := crops(v.augment)
	if !each && !before && v.by == nil {
		scale(pixels, out)
		return nil
	}
	values := make([]float32, len(pixels))
	scale(pixels, values)
	if before {
		drawWindow(shared, from, to, flips).cut(values, from, to, out)
		values, from = append(values[:0], out...), to
		clear(out)
	}
	if v.by != nil {
		if err := v.by.Apply(augment.Image{Shape: from, Values: values}, augment.NewStream(v.address)); err != nil {
			return err
		}
	}
	if each {
		drawWindow(random, from, to, flips).cut(values, from, to, out)
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

// window is a random crop and flip: the image is padded with 4 black pixels on each side, a window of a size that is at most the image's
// is cut out, whose corner is moved down and right from that of the image, and mirrored left to right with probability 1/2.
type window struct {
	down, right int
	flip        bool
}

func drawWindow(random *rand.Rand, from, to pixel.Shape, flips bool) window {
	const pad = 4
	down := random.IntN(2*pad+1+from.Height-to.Height) - pad
	right := random.IntN(2*pad+1+from.Width-to.Width) - pad
	return window{down, right, flips && random.IntN(2) == 1}
}

// cut writes the window to out, which is zero.
func (v window) cut(values []float32, from, to pixel.Shape, out []float32) {
	h, w, c := from.Height, from.Width, from.Channels
	for i := range to.Height {
		for j := range to.Width {
			y, x := i+v.down, j+v.right
			if v.flip {
				x = to.Width - 1 - j + v.right
			}
			if y < 0 || y >= h || x < 0 || x >= w {
				continue
			}
			copy(out[(i*to.Width+j)*c:][:c], values[(y*w+x)*c:])
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
