package train

import (
	"math/rand/v2"
	"strings"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/pixel"
)

// What is done to every view of an image.
const (
	noneAug modelfile.Augmentation = "none"
	// cropFlip is zero padding by 4, random crop, flip with probability 1/2: drawn for each view,
	// after its augmentation.
	cropFlip modelfile.Augmentation = "crop-flip"
	onlyCrop modelfile.Augmentation = "crop" // as crop-flip without the flip
	onlyFlip modelfile.Augmentation = "flip" // as crop-flip without the crop
	// resizedCropFlip is a random part of the image, of 8 to 100 % of its area and a ratio of width
	// to height from 3/4 to 4/3, in the image's size by the antialiased bilinear filter; and a
	// flip: what training on ImageNet takes.
	resizedCropFlip modelfile.Augmentation = "random-resized-crop-flip"
	resizedCrop     modelfile.Augmentation = "random-resized-crop" // the same without the flip

	sharedAug = "-shared" // behind one of them: once for an image, before its views are made
)

// Augmentations of Options.Augment.
func Augmentations() []modelfile.Augmentation {
	all := []modelfile.Augmentation{noneAug}
	for _, a := range []modelfile.Augmentation{cropFlip, onlyCrop, onlyFlip, resizedCropFlip, resizedCrop} {
		all = append(all, a, a+sharedAug)
	}
	return all
}

// framing is an augmentation's change of the frame of an image: of each view, or once before the views are made.
type framing struct {
	each, shared, flips bool
	pad                 int  // pixels of padding; 0: no crop
	resized             bool // a random part in the size of the whole, in place of padding and crop
}

// framingOf says what an augmentation does.
func framingOf(augmentation modelfile.Augmentation) (f framing) {
	of, shared := strings.CutSuffix(string(augmentation), sharedAug)
	switch modelfile.Augmentation(of) {
	case cropFlip:
		f = framing{pad: cropPad, flips: true}
	case onlyCrop:
		f = framing{pad: cropPad}
	case onlyFlip:
		f = framing{flips: true}
	case resizedCropFlip:
		f = framing{resized: true, flips: true}
	case resizedCrop:
		f = framing{resized: true}
	default:
		return f
	}
	f.each, f.shared = !shared, shared
	return f
}

const cropPad = 4

// crops reports whether it cuts windows that may be smaller than the image.
func (f framing) crops() bool { return f.pad > 0 || f.resized }

// view writes a view of an image with some pixels, without noise, to out.
func (p *plan) view(pixels []uint8, epoch, member, view int, random *rand.Rand, out []float32) error {
	recipe, v := p.run.Recipe, viewing{augment: p.run.Recipe.Augment, address: p.address(epoch, member, view)}
	if p.augmented(view) {
		v.by = p.views
	}
	shared := random
	if view > 0 {
		shared = stream(recipe.Seed, imageStream, epoch, member, 0)
	}
	return v.of(pixels, p.images.Shape, p.images.Shape, shared, random, out)
}

// viewing is how a view is made.
type viewing struct {
	augment modelfile.Augmentation // of Augmentations
	by      augment.Augmentation   // nil for none
	address augment.Address        // of its random numbers
}

// of writes a view of an image to out, which is zero. Only a crop makes the size to of another size from.
func (v viewing) of(pixels []uint8, from, to pixel.Shape, shared, random *rand.Rand, out []float32) error {
	f := framingOf(v.augment)
	if !f.each && !f.shared && v.by == nil {
		scale(pixels, out)
		return nil
	}
	values := make([]float32, len(pixels))
	scale(pixels, values)
	if f.shared {
		f.apply(shared, values, from, to, out)
		values, from = append(values[:0], out...), to
		clear(out)
	}
	if v.by != nil {
		if err := v.by.Apply(augment.Image{Shape: from, Values: values}, augment.NewStream(v.address)); err != nil {
			return err
		}
	}
	if f.each {
		f.apply(random, values, from, to, out)
	} else {
		copy(out, values)
	}
	return nil
}

// augmented reports whether a view is one by the augmentation of the run.
func (p *plan) augmented(view int) bool {
	return p.views != nil && (view > 0 || p.needs.Views == 1)
}

func (p *plan) address(epoch, member, view int) augment.Address {
	return augment.Address{Seed: p.run.Recipe.Seed, Epoch: uint64(epoch), Image: uint64(p.images.IDs[member]),
		View: uint64(view)}
}

func scale(pixels []uint8, out []float32) {
	for i, v := range pixels {
		out[i] = float32(v) / 255
	}
}

// window is a random crop and flip: the image is padded with 4 black pixels on each side, a window
// of a size that is at most the image's is cut out, whose corner is moved down and right from that
// of the image, and mirrored left to right with probability 1/2.
type window struct {
	down, right int
	flip        bool
}

// apply writes the frame of an image to out, which is zero, by random numbers.
func (f framing) apply(random *rand.Rand, values []float32, from, to pixel.Shape, out []float32) {
	if f.resized {
		drawPart(random, from, f.flips).scale(values, from, to, out)
		return
	}
	f.window(random, from, to).cut(values, from, to, out)
}

func (f framing) window(random *rand.Rand, from, to pixel.Shape) window {
	down := random.IntN(2*f.pad+1+from.Height-to.Height) - f.pad
	right := random.IntN(2*f.pad+1+from.Width-to.Width) - f.pad
	return window{down, right, f.flips && random.IntN(2) == 1}
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
