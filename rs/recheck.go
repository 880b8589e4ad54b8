package rs

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/classifier/purity"
)

// recheck asks some noise samples of a run again, shuffled among those of other blocks and extreme
// images, and compares the classes: counts prove nothing about a model whose answer to an image
// depends on its batch. One more call of the model comes after the first three blocks, then after
// about 150 each.
//
// It is safe for concurrent use.
type recheck struct {
	model *purity.Model
	size  int // values of an image
	block int // noise samples
	seed  uint64

	mu     sync.Mutex
	source *rand.PCG
	random *rand.Rand // of source, which is seeded for each block
	seen   int        // blocks
	calls  uint64
	kept   int // noise samples in wait
	batch  classifier.Batch
	whole  classifier.Batch // one call: of a block's size
	known  purity.Answers

	found, unsaved purity.Found
}

const (
	rechecksAtOnce = 3  // of the first blocks
	recheckPause   = 50 // of later blocks, one in so many is taken from
)

func newRecheck(b *blocks) (*recheck, error) {
	m, err := purity.New(b.model)
	if err != nil {
		return nil, err
	}
	r := &recheck{model: m, size: b.shape.Len(), block: b.samples, seed: b.seed, source: new(rand.PCG)}
	r.random = rand.New(r.source)
	own := r.own()
	r.batch, r.whole = r.newBatch(own, b.grid != nil), r.newBatch(r.block, b.grid != nil)
	r.known.Classes = make([]int32, own)
	return r, nil
}

func (r *recheck) newBatch(n int, grid bool) classifier.Batch {
	if grid {
		return classifier.Batch{N: n, Grid: make([]int16, n*r.size)}
	}
	return classifier.Batch{N: n, Real: make([]float32, n*r.size)}
}

// own is how many noise samples one call asks again: three in ten, so that the extreme images
// beside them are the majority.
func (r *recheck) own() int { return (3*r.block + 9) / 10 }

// take keeps some noise samples of a block that was classified, and asks again when there are enough. The error is a
// classifier.ErrImpure where an answer changed, else the model's error.
func (r *recheck) take(ctx context.Context, buf *buffer, image, block int) error {
	if r == nil || !r.mu.TryLock() {
		return nil
	}
	defer r.mu.Unlock()
	if ctx.Err() != nil { // a call that was left behind may still read the batch
		return nil
	}
	r.seen++
	r.source.Seed(r.seed, uint64(image)<<32^uint64(block))
	if r.seen > rechecksAtOnce && r.random.IntN(recheckPause) != 0 {
		return nil
	}
	failed := make(map[int]bool, len(buf.failed))
	for _, i := range buf.failed {
		failed[i] = true
	}
	from := classifier.Batch{N: r.block, Grid: buf.grid, Real: buf.real}
	for _, i := range r.random.Perm(r.block)[:(r.block+9)/10] {
		if !failed[i] && r.kept < r.batch.N {
			purity.Copy(r.batch, r.kept, from, i, r.size)
			r.known.Classes[r.kept] = buf.classes[i]
			r.kept++
		}
	}
	if r.kept < r.batch.N {
		return nil
	}
	r.kept = 0
	return r.ask(ctx)
}

func (r *recheck) ask(ctx context.Context) error {
	all := r.whole
	purity.Extreme(all, r.batch, r.size, r.calls)
	r.calls++
	places := r.random.Perm(r.block)
	for k := range r.batch.N {
		purity.Copy(all, places[k], r.batch, k, r.size)
	}
	answers, err := r.model.Ask(ctx, all)
	if err != nil {
		return err
	}
	var now purity.Found
	now.Count(answers)
	for k := range r.batch.N {
		now.Compare(r.known, k, answers, places[k], "asked again during the run, beside other images")
	}
	r.found.Add(now)
	r.unsaved.Add(now)
	return r.found.Err(r.model.Info.Name)
}

// unwritten returns the findings since it was last asked.
func (r *recheck) unwritten() purity.Found {
	if r == nil {
		return purity.Found{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.unsaved
	r.unsaved = purity.Found{}
	return found
}
