package train

import (
	"context"
	"math/rand/v2"

	"github.com/certspec/certspec/dataset"
)

// batch is what a step takes: images [N, H, W, C] in units of the full range, and labels.
type batch struct {
	images []float32
	labels []int32
}

// Random streams are values of (seed, purpose, epoch, image): nothing of them is saved.
const (
	orderStream = iota + 1
	imageStream
	testStream
)

func stream(seed uint64, purpose, epoch, image int) *rand.Rand {
	address := uint64(purpose)<<60 ^ uint64(epoch)<<32 ^ uint64(image)
	return rand.New(rand.NewPCG(scramble(seed), scramble(address)))
}

// scramble is the finalizer of SplitMix64: neighbouring addresses get unrelated streams.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// feed prepares the batches from a step on, a few ahead of the training, until the run or
// ctx ends; then the channel is closed.
func (p *plan) feed(ctx context.Context, step int) <-chan batch {
	batches := make(chan batch, 2)
	go func() {
		defer close(batches)
		var order []int
		for ; step < p.steps; step++ {
			epoch, at := step/p.stepsPerEpoch, step%p.stepsPerEpoch
			if order == nil || at == 0 {
				order = stream(p.run.Recipe.Seed, orderStream, epoch, 0).Perm(p.images.Len())
			}
			size := p.run.Recipe.BatchSize
			select {
			case batches <- p.batch(epoch, order[at*size:(at+1)*size]):
			case <-ctx.Done():
				return
			}
		}
	}()
	return batches
}

func (p *plan) batch(epoch int, members []int) batch {
	size := p.images.Shape.Len()
	b := batch{images: make([]float32, len(members)*size), labels: make([]int32, len(members))}
	for i, member := range members {
		random := stream(p.run.Recipe.Seed, imageStream, epoch, member)
		out := b.images[i*size : (i+1)*size]
		if p.run.Recipe.Augment == CropFlip {
			cropFlip(p.images, member, random, out)
		} else {
			scale(p.images.Image(member), out)
		}
		addNoise(out, p.run.Recipe.Sigma, random)
		b.labels[i] = int32(p.images.Labels[member])
	}
	return b
}

func scale(pixels []uint8, out []float32) {
	for i, v := range pixels {
		out[i] = float32(v) / 255
	}
}

// cropFlip pads the image with 4 black pixels on each side, cuts a random window of the
// image's size out, and mirrors it left to right with probability 1/2.
func cropFlip(images *dataset.Images, member int, random *rand.Rand, out []float32) {
	const pad = 4
	h, w, c := images.Shape.Height, images.Shape.Width, images.Shape.Channels
	down, right := random.IntN(2*pad+1)-pad, random.IntN(2*pad+1)-pad
	flip := random.IntN(2) == 1
	pixels := images.Image(member)
	for i := range h {
		for j := range w {
			y, x := i+down, j+right
			if flip {
				x = w - 1 - j + right
			}
			if y < 0 || y >= h || x < 0 || x >= w {
				continue
			}
			scale(pixels[(y*w+x)*c:(y*w+x+1)*c], out[(i*w+j)*c:(i*w+j+1)*c])
		}
	}
}

func addNoise(out []float32, sigma float64, random *rand.Rand) {
	if sigma == 0 {
		return
	}
	for i := range out {
		out[i] += float32(sigma * random.NormFloat64())
	}
}
