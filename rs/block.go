package rs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

// blocks evaluates blocks of noise samples: one block is one call of the model, always of the same
// number of samples in the same arrangement, so that its counts depend on its address alone.
type blocks struct {
	model   classifier.Classifier
	classes int
	shape   pixel.Shape
	samples int // in a block
	seed    uint64
	scored  bool // scores are wanted
	top     bool // the largest of each noise sample

	// Exactly one is set.
	grid     noise.Sampler
	gaussian *noise.Gaussian
}

func newBlocks(model classifier.Classifier, info classifier.Info, law noise.Law, sigma float64, samples int,
	seed uint64) (*blocks, error) {
	b := &blocks{model: patient{model, info.Name}, classes: info.Classes, shape: info.Shape, samples: samples,
		seed: seed}
	var err error
	switch law {
	case noise.LawGaussian:
		b.gaussian, err = noise.NewGaussian(sigma)
	default:
		b.grid, err = noise.NewSampler(law, sigma)
	}
	if err != nil {
		return nil, optionErrorf("Sigma: %v", err)
	}
	return b, nil
}

// buffer holds the samples and answers of one block.
type buffer struct {
	grid    []int16
	real    []float32
	classes []int32
	failed  []int // samples whose noise could not be drawn
	votes   []int // by class; zero between uses
	scores  []float32
	result  classifier.Result // handed to the model
}

func (b *blocks) newBuffer() *buffer {
	buf := &buffer{classes: make([]int32, b.samples), votes: make([]int, b.classes)}
	if b.scored {
		buf.scores = make([]float32, b.samples*b.classes)
	}
	if b.grid != nil {
		buf.grid = make([]int16, b.samples*b.shape.Len())
	} else {
		buf.real = make([]float32, b.samples*b.shape.Len())
	}
	return buf
}

// draw fills the buffer with the noise samples of a grid image, and of what an image off the grid has beyond it.
func (b *blocks) draw(buf *buffer, grid []int16, residue []float32, image, block int) error {
	at := noise.Address{Seed: b.seed, Image: uint64(image), Block: uint64(block)}
	buf.failed = buf.failed[:0]
	if b.gaussian != nil {
		b.gaussian.AddTo(buf.real, grid, at, 0)
		for i := 0; residue != nil && i < len(buf.real); i += len(residue) {
			for k, v := range residue {
				buf.real[i+k] += v
			}
		}
		return nil
	}
	var err error
	buf.failed, err = b.grid.AddTo(buf.grid, grid, at, 0, buf.failed)
	return err
}

// classify counts the classes of the samples in the buffer.
func (b *blocks) classify(ctx context.Context, buf *buffer) (counts []ledger.Count, misses int, err error) {
	for i := range buf.classes {
		buf.classes[i] = classifier.Miss // what the model leaves out is no hit
	}
	buf.result = classifier.Result{Classes: buf.classes, Scores: buf.scores}
	batch := classifier.Batch{N: b.samples, Grid: buf.grid, Real: buf.real}
	if err := b.model.Classify(ctx, batch, &buf.result); err != nil {
		return nil, 0, err
	}
	for _, i := range buf.failed {
		buf.classes[i] = classifier.Miss
	}
	if err := b.markUnknown(buf); err != nil {
		return nil, 0, err
	}
	distinct := 0
	for _, class := range buf.classes {
		switch {
		case class == classifier.Miss:
			misses++
		case class < 0 || int(class) >= b.classes:
			clear(buf.votes)
			return nil, 0, fmt.Errorf("the model answers class %d, but has the classes 0 to %d", class, b.classes-1)
		default:
			if buf.votes[class] == 0 {
				distinct++
			}
			buf.votes[class]++
		}
	}
	counts = make([]ledger.Count, 0, distinct)
	for class, n := range buf.votes {
		if n > 0 {
			counts = append(counts, ledger.Count{Class: int32(class), N: n})
			buf.votes[class] = 0
		}
	}
	return counts, misses, nil
}

// toGrid widens an 8-bit image to a grid image.
func toGrid(image []uint8) []int16 {
	grid := make([]int16, len(image))
	for i, b := range image {
		grid[i] = int16(b)
	}
	return grid
}

// tally sums blocks of one image.
type tally struct {
	votes  map[int32]int
	misses int
}

func (t *tally) add(counts []ledger.Count, misses int) {
	if t.votes == nil {
		t.votes = make(map[int32]int)
	}
	for _, c := range counts {
		t.votes[c.Class] += c.N
	}
	t.misses += misses
}

// sum gives the sums, ascending by class.
func (t *tally) sum() (counts []ledger.Count, misses int) {
	counts = make([]ledger.Count, 0, len(t.votes))
	for class, n := range t.votes {
		counts = append(counts, ledger.Count{Class: class, N: n})
	}
	slices.SortFunc(counts, func(a, b ledger.Count) int { return cmp.Compare(a.Class, b.Class) })
	return counts, t.misses
}
