package train

import (
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/internal/fouriermix"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
)

// What makes augmented views. Both draw the same numbers, and their views agree to 2·10⁻⁶, so that
// weights differ by rounding.
const (
	viewsByHost  modelfile.ViewMaker = "host"  // the goroutines that prepare batches, ahead of the steps
	viewsByGraph modelfile.ViewMaker = "graph" // a compiled graph on the device, before each step; for FourierMix alone
)

// viewsByGraph reports whether the views of a run are the graph's.
func (p *plan) viewsByGraph() bool { return p.run.Recipe.ViewsBy == viewsByGraph }

// unmade holds the inputs, besides the images, of which a graph makes the rows of a batch.
type unmade struct {
	images  int
	draws   *fouriermix.Draws // of the augmented views, view by view
	windows *fouriermix.Maps  // crop and flip of all views; nil without
}

// newUnmade makes room for the views of n images.
func (p *plan) newUnmade(n int) (u *unmade, err error) {
	u = &unmade{images: n}
	if framingOf(p.run.Recipe.Augment).each {
		u.windows = fouriermix.NewMaps(p.images.Shape, p.needs.Views*n)
	}
	u.draws, err = fouriermix.NewDraws(p.views.(augment.FourierMix), p.images.Shape, max(p.needs.Views-1, 1)*n)
	return u, err
}

// draw draws a view, which has a place among those of the batch; with the first one goes the image itself, to out.
func (u *unmade) draw(p *plan, pixels []uint8, epoch, member, view, place int, random *rand.Rand, out []float32) error {
	frame, shape := framingOf(p.run.Recipe.Augment), p.images.Shape
	if view == 0 && frame.shared {
		values := make([]float32, len(out))
		scale(pixels, values)
		frame.apply(random, values, shape, shape, out)
	} else if view == 0 {
		scale(pixels, out)
	}
	if frame.each {
		u.windows.Set(place, frame.window(random, shape, shape).inverse(shape), true)
	}
	if !p.augmented(view) {
		return nil
	}
	if p.needs.Views > 1 { // the first one is the image
		place -= u.images
	}
	return u.draws.Draw(place, augment.NewStream(p.address(epoch, member, view)))
}

// newViewer compiles what makes the rows of a batch: inputs are images, draws, windows if there are
// any, and the noise where no adversary comes before it.
func newViewer(b *backend.Backend, p *plan) (*Exec, error) {
	f := p.views.(augment.FourierMix)
	exec, err := NewExec(b.Backend, func(in []*Node) *Node {
		images, in := in[0], in[1:]
		views := fouriermix.Mix(f, images, in[:fouriermix.Inputs])
		in = in[fouriermix.Inputs:]
		if p.needs.Views > 1 {
			views = Concatenate([]*Node{images, views}, 0)
		}
		if framingOf(p.run.Recipe.Augment).each {
			views = fouriermix.Sample(augment.FourierMix{}, views, in[:2])
			in = in[2:]
		}
		if p.needs.Apart() {
			return views
		}
		d := images.Shape().Dimensions
		each := append([]int{p.needs.Views, p.needs.Noises}, d...)
		rows := Add(InsertAxes(Reshape(views, append([]int{p.needs.Views}, d...)...), 1), Reshape(in[0], each...))
		return Reshape(rows, in[0].Shape().Dimensions...)
	})
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return exec, nil
}

// makeViews gives the rows of a batch, or with an adversary the images without noise, for the
// images on the device, which it frees.
func (t *trainer) makeViews(u *unmade, images, noise *tensors.Tensor) (*tensors.Tensor, error) {
	inputs := append([]*tensors.Tensor{images}, u.draws.Tensors()...)
	if u.windows != nil {
		inputs = append(inputs, u.windows.Tensors()...)
	}
	own := len(inputs)
	if !t.plan.needs.Apart() {
		inputs = append(inputs, noise)
	}
	args := make([]any, len(inputs))
	for i, input := range inputs {
		args[i] = input
	}
	outputs, err := t.viewer.Call(args...)
	if err := free(inputs[:own]); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	return outputs[0], nil
}

func isFourierMix(a augment.Augmentation) bool {
	_, ok := a.(augment.FourierMix)
	return ok
}
