package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
)

// batch is a step's input from N images, in units of the full range. The rows of the network, [Views·Noises·N, H, W,
// C], are ordered as method.Batch says.
type batch struct {
	images []float32 // the rows, with noise; where noise stands apart, the N images
	noise  []float32 // the rows' noise, for an adversary and for views that the graph makes; else nil
	unmade *unmade   // for views that the graph makes; else nil
	labels []int32
	soft   []float32    // [N, K], where the method takes it
	draws  []float32    // [N, Draws]
	more   []moreImages // of the further sets
	err    error
}

// Random streams are values of (seed, purpose, epoch, image, view): nothing of them is saved.
const (
	orderStream = iota + 1
	imageStream
	testStream
	shareStream
	moreOrderStream // the view is the place of the set, the epoch its pass
	moreImageStream
	drawStream
)

func stream(seed uint64, purpose, epoch, image, view int) *rand.Rand {
	address := uint64(purpose)<<60 ^ uint64(view)<<52 ^ uint64(epoch)<<32 ^ uint64(image)
	return rand.New(rand.NewPCG(scramble(seed), scramble(address)))
}

// scramble is the finalizer of SplitMix64: neighbouring addresses get unrelated streams.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ahead is how many batches wait beside two: as many as there are processors, at most 256 MB of them.
func (p *plan) ahead() int {
	const most = 256 << 20
	rows := p.run.Recipe.BatchSize * max(1, p.needs.Views*p.needs.Noises)
	for _, f := range p.more {
		rows += f.batch
	}
	return min(runtime.GOMAXPROCS(0), most/(4*rows*p.images.Shape.Len()))
}

// feed prepares the batches from a step on, a few ahead of the training and as many at once
// as there are processors, until the run or ctx ends; then the channel is closed.
func (p *plan) feed(ctx context.Context, step int) <-chan batch {
	batches := make(chan batch)
	ahead := make(chan chan batch, p.ahead())
	go func() {
		defer close(ahead)
		var order []int
		for step := step; step < p.steps; step++ {
			epoch, at := step/p.stepsPerEpoch, step%p.stepsPerEpoch
			if order == nil || at == 0 {
				order = stream(p.run.Recipe.Seed, orderStream, epoch, 0, 0).Perm(p.images.Len())
			}
			size := p.run.Recipe.BatchSize
			members, one := order[at*size:(at+1)*size], make(chan batch, 1)
			select {
			case ahead <- one:
			case <-ctx.Done():
				return
			}
			more := p.nextMore(step)
			go func() { one <- p.batchOf(step, at, members, more) }()
		}
	}()
	go func() {
		defer close(batches)
		for one := range ahead {
			select {
			case batches <- <-one:
			case <-ctx.Done():
				return
			}
		}
	}()
	return batches
}

func (p *plan) batchOf(step, at int, members []int, more [][]member) batch {
	b := p.batch(step, at, members)
	if b.err == nil {
		b.soft, b.draws = p.softLabels(members), p.draws(step/p.stepsPerEpoch, members)
		b.more, b.err = p.moreImages(more)
	}
	return b
}

func (p *plan) batch(step, at int, members []int) (b batch) {
	epoch, n, needs := step/p.stepsPerEpoch, len(members), p.needs
	size, rows := p.images.Shape.Len(), needs.Views*needs.Noises*n
	b.labels = make([]int32, n)
	if p.viewsByGraph() {
		b.unmade, b.err = p.newUnmade(n)
	}
	if b.err != nil {
		return b
	}
	if b.unmade != nil || needs.Apart() {
		b.images, b.noise = make([]float32, n*size), make([]float32, rows*size)
	} else {
		b.images = make([]float32, rows*size)
	}
	noisy, added, noise := p.noisyRows(epoch, at, rows), p.noise(step), b.noise
	if noise == nil {
		noise = b.images // to the views themselves
	}
	for i, member := range members {
		b.labels[i] = int32(p.images.Labels[member])
		var pixels []uint8
		if pixels, b.err = p.images.image(member); b.err != nil {
			return b
		}
		for view := range needs.Views {
			first := view*needs.Noises*n + i // of the rows of the view, n apart
			random := stream(p.run.Recipe.Seed, imageStream, epoch, member, view)
			if b.unmade != nil {
				b.err = b.unmade.draw(p, pixels, epoch, member, view, view*n+i, random, b.images[i*size:][:size])
			} else {
				out := b.images[first*size:][:size]
				b.err = p.view(pixels, epoch, member, view, random, out)
				for k := 1; k < needs.Noises && b.noise == nil; k++ {
					copy(b.images[(first+k*n)*size:][:size], out)
				}
			}
			if b.err != nil {
				b.err = fmt.Errorf("view %d of image %d of %s: %w", view, p.images.IDs[member], p.images.Name, b.err)
				return b
			}
			for k := range needs.Noises {
				if row := first + k*n; noisy == nil || noisy[row] {
					added.to(noise[row*size:][:size], random)
				}
			}
		}
	}
	return b
}

// gaussian is the noise of a view: 𝒩(0, sigma²) a value, and a shift of all values together from 𝒩(0, grey²).
type gaussian struct{ sigma, grey float64 }

func (p *parts) noiseOf(sigma float64) gaussian { return gaussian{sigma: sigma, grey: p.grey * sigma} }

func (g gaussian) to(out []float32, random *rand.Rand) {
	if g.sigma == 0 {
		return
	}
	for i := range out {
		out[i] += float32(g.sigma * random.NormFloat64())
	}
	if g.grey > 0 {
		shift := float32(g.grey * random.NormFloat64())
		for i := range out {
			out[i] += shift
		}
	}
}
