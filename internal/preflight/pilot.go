package preflight

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// pilot is the model on its sample.
type pilot struct {
	model    classifier.Classifier
	info     classifier.Info
	images   *dataset.Images
	opt      rs.Options
	progress progress.Reporter
	now      func() time.Time

	classes []int32         // of the images as they are
	votes   []map[int32]int // of the noise samples of each image, misses included
	rate    float64         // samples per second
}

// newPilot takes a sample of the data, at most so many images or 100 for 0, and checks that the
// model can take it. Of all images it gives the list alone; pictures are decoded only where they
// are looked at. The settings of the run get their defaults as far as a pilot needs them.
func newPilot(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, opt rs.Options, images int,
	now func() time.Time) (p *pilot, all *dataset.Images, err error) {
	plan, err := opt.Plan()
	if err != nil {
		return nil, nil, err
	}
	if images < 0 {
		return nil, nil, fmt.Errorf("preflight: Images is %d; expected it not to be negative", images)
	}
	images = cmp.Or(images, 100)
	if all, err = data.List(ctx); err != nil {
		return nil, nil, fmt.Errorf("preflight: data: %w", err)
	}
	if all.Len() > images {
		data = data.Subset(dataset.Count(images))
	}
	sample, err := data.Load(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("preflight: data: %w", err)
	}
	if p, err = newGlance(model, sample, Use{Noise: opt.Noise, Block: plan.Block()}); err != nil {
		return nil, nil, err
	}
	opt.Block, opt.Noise = p.opt.Block, p.opt.Noise
	opt.Workers = cmp.Or(opt.Workers, rs.DefaultWorkers(p.info.Identity))
	p.opt, p.progress, p.now = opt, opt.Progress, now
	return p, all, nil
}

// clean classifies the images as they are.
func (p *pilot) clean(ctx context.Context) (err error) {
	size, block := p.info.Shape.Len(), p.opt.Block
	batch := classifier.Batch{N: block, Grid: make([]int16, block*size)}
	p.classes, err = p.ask(ctx, batch, func(k, i int) { copy(batch.Grid[k*size:(k+1)*size], p.images.Grid(i)) })
	return err
}

// ask classifies all images, a block at a time; put writes the i-th of them at place k of the batch.
func (p *pilot) ask(ctx context.Context, batch classifier.Batch, put func(k, i int)) (classes []int32, err error) {
	for start := 0; start < p.images.Len(); start += batch.N {
		clear(batch.Grid) // the last batch is filled up with black images
		clear(batch.Real)
		n := min(batch.N, p.images.Len()-start)
		for k := range n {
			put(k, start+k)
		}
		result := classifier.Result{Classes: slices.Repeat([]int32{classifier.Miss}, batch.N)}
		if err := p.model.Classify(ctx, batch, &result); err != nil {
			return nil, err
		}
		for _, class := range result.Classes {
			if class < classifier.Miss || int(class) >= p.info.Classes {
				return nil, fmt.Errorf("the model answers class %d, but has the classes 0 to %d", class,
					p.info.Classes-1)
			}
		}
		classes = append(classes, result.Classes[:n]...)
	}
	return classes, nil
}

// sampler draws noise samples under either law.
type sampler struct {
	grid     noise.Sampler
	gaussian *noise.Gaussian
	seed     uint64
}

func (p *pilot) sampler() (*sampler, error) {
	s := &sampler{seed: pilotSeed(p.info, p.images, p.opt)}
	var err error
	if p.opt.Noise == noise.LawGaussian {
		s.gaussian, err = noise.NewGaussian(p.opt.Sigma)
	} else {
		s.grid, err = noise.NewSampler(p.opt.Noise, p.opt.Sigma)
	}
	return s, err
}

// batch holds n samples under the sampler's law.
func (s *sampler) batch(n, size int) classifier.Batch {
	if s.gaussian != nil {
		return classifier.Batch{N: n, Real: make([]float32, n*size)}
	}
	return classifier.Batch{N: n, Grid: make([]int16, n*size)}
}

// draw fills samples at to at+count of a batch with samples of an image, numbered from first.
func (s *sampler) draw(batch classifier.Batch, at, count int, grid []int16, id, first int) error {
	from, to := at*len(grid), (at+count)*len(grid)
	address := noise.Address{Seed: s.seed, Image: uint64(id)}
	if s.gaussian != nil {
		s.gaussian.AddTo(batch.Real[from:to], grid, address, first)
		return nil
	}
	_, err := s.grid.AddTo(batch.Grid[from:to], grid, address, first, nil)
	return err
}

// pilotSeed is the first 8 bytes of the SHA-256 of the pilot's own name, model, data and noise: a
// run, whose seed is derived from another text, never sees the same samples.
func pilotSeed(info classifier.Info, images *dataset.Images, opt rs.Options) uint64 {
	h := sha256.New()
	fmt.Fprintf(h, "certspec preflight\n%s\n%s\n%s\n%x\n", info.Identity.Weights, images.Digest, opt.Noise,
		math.Float64bits(opt.Sigma))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// noisy classifies one block of noise samples of each image, several blocks at once as a run
// does, and measures the rate.
func (p *pilot) noisy(ctx context.Context) error {
	s, err := p.sampler()
	if err != nil {
		return err
	}
	n := p.images.Len()
	p.votes = make([]map[int32]int, n)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done atomic.Int64
	var reports sync.Mutex
	start := p.now()
	report := func(final bool) {
		if p.progress == nil {
			return
		}
		reports.Lock()
		defer reports.Unlock()
		state := progress.State{Task: "preflight " + p.images.Name, Done: float64(done.Load()), Total: float64(n),
			Unit: "images", RateUnit: "noise samples", Left: -1, Final: final}
		if seconds := p.now().Sub(start).Seconds(); seconds > 0 && state.Done > 0 {
			state.Rate = state.Done * float64(p.opt.Block) / seconds
			state.Left = time.Duration((state.Total - state.Done) * seconds / state.Done * float64(time.Second))
		}
		p.progress(state)
	}
	var workers sync.WaitGroup
	for range min(p.opt.Workers, n) {
		workers.Go(func() {
			batch := s.batch(p.opt.Block, p.info.Shape.Len())
			result := classifier.Result{Classes: make([]int32, p.opt.Block)}
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := s.draw(batch, 0, p.opt.Block, p.images.Grid(i), p.images.IDs[i], 0)
				if err == nil {
					err = p.model.Classify(ctx, batch, &result)
				}
				if err != nil {
					stop(err)
					return
				}
				votes := map[int32]int{}
				for _, class := range result.Classes {
					votes[class]++
				}
				p.votes[i] = votes
				done.Add(1)
				report(false)
			}
		})
	}
	workers.Wait()
	report(true)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if seconds := p.now().Sub(start).Seconds(); seconds > 0 {
		p.rate = float64(n*p.opt.Block) / seconds
	}
	return nil
}

func (p *pilot) probabilities() []Votes {
	known := make([]Votes, len(p.votes))
	for i, votes := range p.votes {
		known[i].Samples = p.opt.Block
		label := p.images.Labels[i]
		for class, n := range votes {
			if class != classifier.Miss && (n > known[i].Hits || n == known[i].Hits && int(class) == label) {
				known[i].Hits, known[i].Wrong = n, label >= 0 && int(class) != label
			}
		}
	}
	return known
}

// labelled counts the images whose label is known.
func (p *pilot) labelled() (n int) {
	for _, label := range p.images.Labels {
		if label >= 0 {
			n++
		}
	}
	return n
}

// right counts the labelled images that the answers have right.
func (p *pilot) right(answers []int32) (n int) {
	for i, label := range p.images.Labels {
		if label >= 0 && int(answers[i]) == label {
			n++
		}
	}
	return n
}

// accuracies are the shares of labelled images, and of their noise samples, that are right.
func (p *pilot) accuracies() (clean, noisy float64) {
	right := 0
	for i, label := range p.images.Labels {
		if label >= 0 {
			right += p.votes[i][int32(label)]
		}
	}
	n := float64(p.labelled())
	return float64(p.right(p.classes)) / n, float64(right) / (n * float64(p.opt.Block))
}

// agreement is the share of noise samples that are given the class of their image without noise.
func (p *pilot) agreement() float64 {
	same := 0
	for i, class := range p.classes {
		if class != classifier.Miss {
			same += p.votes[i][class]
		}
	}
	return float64(same) / float64(len(p.classes)*p.opt.Block)
}
