package intnet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// box is a random one around an image, of at most so many free pixels of two or three values, and all images in it.
func box(random *rand.Rand, image []int16, free int, n *Network) (low, high []int16, all []int16) {
	low, high, all = slices.Clone(image), slices.Clone(image), slices.Clone(image)
	for _, at := range random.Perm(len(image))[:min(free, len(image))] {
		high[at] = int16(min(int(low[at])+1+random.IntN(60), int(n.High)))
		middle := int16((int(low[at]) + int(high[at])) / 2)
		for from, end := 0, len(all); from < end; from += len(image) {
			for _, v := range []int16{middle, high[at]} {
				all = append(all, all[from:from+len(image)]...)
				all[len(all)-len(image)+at] = v
			}
		}
	}
	return low, high, all
}

// greatest are the greatest differences of logits among images, at k·classes + l.
func greatest(n *Network, images []int16) []int64 {
	k, size := n.Classes(), n.values[0].size()
	out := slices.Repeat([]int64{-1 << 62}, k*k)
	for at := 0; at < len(images); at += size {
		logits := n.Define(images[at : at+size])
		for i := range out {
			out[i] = max(out[i], int64(logits[i/k])-int64(logits[i%k]))
		}
	}
	return out
}

// Over all images of a box, no difference of logits exceeds its bound: on random networks of all
// layers, by every kernel. At one image alone bounds are the differences themselves.
func TestBoundsHold(t *testing.T) {
	proper, ends := 0, 0
	for seed := range uint64(90) {
		random := rand.New(rand.NewPCG(seed, 31))
		n := draw(random, seed%3 > 0)
		if w := n.Layers[len(n.Layers)-1].Weight; slices.Min(w) == -32768 && slices.Max(w) == 32767 {
			ends++
		}
		low, high, all := box(random, images(random, n, 1), 3, n)
		want, point := greatest(n, all), greatest(n, low)
		for _, kernel := range Kernels() {
			b, err := n.Bounds(kernel)
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Differences(low, high)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if got[i] < want[i] {
					t.Fatalf("seed %d, kernel %s, pair %d: bound %d, and an image has %d", seed, kernel, i, got[i],
						want[i])
				}
			}
			if at, err := b.Differences(low, low); err != nil || !slices.Equal(at, point) {
				t.Fatalf("seed %d, kernel %s: at an image %v; want %v (%v)", seed, kernel, at, point, err)
			}
			if !slices.Equal(got, point) {
				proper++
			}
		}
	}
	if proper < 30 || ends < 5 {
		t.Errorf("%d boxes tell bounds from values, %d networks have the ends of int16 in their last layer", proper, ends)
	}
}

// Where no number is read twice, interval bounds are exact: the greatest difference of all images of the box.
func TestBoundsAreExact(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 32))
		n := &Network{Height: 2, Width: 2, Channels: 2, Low: -255, High: 510, Border: []int16{0, 0},
			Unit: [2]int32{1, 0}}
		conv := func(from, h, w, most int) {
			l := Layer{Op: Conv, From: []int{from}, Kernel: [2]int{h, w}, Stride: [2]int{h, w}, Out: 2, Groups: 2}
			for range 2 * h * w {
				l.Weight = append(l.Weight, int16(random.IntN(2*most+1)-most))
			}
			for range 2 {
				l.Bias = append(l.Bias, int32(random.IntN(4001)-1000))
				l.Scale = append(l.Scale, int16(500+random.IntN(8000)))
			}
			n.Layers = append(n.Layers, l)
		}
		conv(0, 1, 2, 60)
		conv(1, 2, 1, 120)
		last := []int16{int16(random.IntN(200) - 100), 0, 0, int16(random.IntN(200) - 100)}
		if ends := []int16{-32768, 32767}; seed%2 == 0 {
			last = []int16{ends[random.IntN(2)], 0, ends[random.IntN(2)], 0}
		}
		n.Layers = append(n.Layers, Layer{Op: Dense, From: []int{2}, Out: 2, Bias: []int32{3, -5}, Weight: last})
		if err := Check(n); err != nil {
			t.Fatal(err)
		}
		low, high, all := box(random, images(random, n, 1), 8, n)
		b, err := n.Bounds("")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Differences(low, high); err != nil || !slices.Equal(got, greatest(n, all)) {
			t.Fatalf("seed %d: bounds %v; want %v (%v)", seed, got, greatest(n, all), err)
		}
	}
}
