package train

import (
	"fmt"

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
	ViewsByHost  modelfile.ViewMaker = "host"  // the goroutines that prepare batches, ahead of the steps
	ViewsByGraph modelfile.ViewMaker = "graph" // a compiled graph on the device, before each step; for FourierMix alone
)

// viewsByGraph reports whether the views of a run are the graph's.
func (p *plan) viewsByGraph() bool { return p.run.Recipe.ViewsBy == ViewsByGraph }

// unmade is what a graph makes the rows of a batch of, besides the images.
type unmade struct {
	draws   *fouriermix.Draws // of the augmented views, view by view
	windows *fouriermix.Maps  // crop and flip of all views; nil without
}

// graphBatch is batch with views that the graph is to make: images are the N images themselves.
func (p *plan) graphBatch(step, at int, members []int) batch {
	epoch := step / p.stepsPerEpoch
	shape, recipe, n, needs := p.images.Shape, p.run.Recipe, len(members), p.needs
	size, rows := shape.Len(), needs.Views*needs.Noises
	b := batch{images: make([]float32, n*size), noise: make([]float32, rows*n*size), labels: make([]int32, n),
		unmade: &unmade{}}
	augmented := max(needs.Views-1, 1)
	if b.unmade.draws, b.err = fouriermix.NewDraws(p.views.(augment.FourierMix), shape, augmented*n); b.err != nil {
		return b
	}
	frame := framingOf(recipe.Augment)
	if frame.each {
		b.unmade.windows = fouriermix.NewMaps(shape, needs.Views*n)
	}
	noisy, added := p.noisyRows(epoch, at, rows*n), p.noise(step)
	values := make([]float32, size)
	for i, member := range members {
		b.labels[i] = int32(p.images.Labels[member])
		out := b.images[i*size:][:size]
		pixels, err := p.images.image(member)
		if err != nil {
			b.err = err
			return b
		}
		scale(pixels, out)
		for view := range needs.Views {
			random := stream(recipe.Seed, imageStream, epoch, member, view)
			switch {
			case frame.each:
				b.unmade.windows.Set(view*n+i, frame.window(random, shape, shape).inverse(shape), true)
			case frame.shared && view == 0:
				copy(values, out)
				clear(out)
				frame.apply(random, values, shape, shape, out)
			}
			if p.augmented(view) {
				at := (view-(needs.Views-augmented))*n + i
				if b.err = b.unmade.draws.Draw(at, augment.NewStream(p.address(epoch, member, view))); b.err != nil {
					return b
				}
			}
			for noise := range needs.Noises {
				if row := (view*needs.Noises+noise)*n + i; noisy == nil || noisy[row] {
					added.to(b.noise[row*size:][:size], random)
				}
			}
		}
	}
	return b
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
