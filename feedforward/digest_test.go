package feedforward

import (
	"slices"
	"testing"
)

// Every number that a layer computes with is in the digest; names are not.
func TestDigest(t *testing.T) {
	make1 := func(change func(v []float64), name string) string {
		t.Helper()
		// weights, biases, slope, ends of a clip, means and deviations
		v := []float64{1, -1, 1, 1, .5, -.5, .1, -2, 2, 1, 1, 0, .25}
		change(v)
		b := NewBuilder(1, 1, 2)
		at := b.Name(name).Dense(0, 2, v[:4], v[4:6])
		at = b.Clip(b.LeakyReLU(at, v[6]), v[7], v[8])
		at = b.Scale(at, v[9:11], v[11:13], nil)
		n, err := b.Network(b.Dense(at, 2, []float64{1, 0, 0, 1}, nil))
		if err != nil {
			t.Fatal(err)
		}
		return n.Digest()
	}
	same := make1(func([]float64) {}, "a")
	if make1(func([]float64) {}, "b") != same {
		t.Error("a name changes the digest")
	}
	for i := range 13 {
		if make1(func(v []float64) { v[i] += .125 }, "a") == same {
			t.Errorf("value %d is not in the digest", i)
		}
	}
	// Kinds and options without weights: a network ends with each of these.
	var digests []string
	for _, last := range []func(b *Builder) int{
		func(b *Builder) int { return b.ReLU(0) },
		func(b *Builder) int { return b.Tanh(0) },
		func(b *Builder) int {
			return b.MaxPool(0, PoolOptions{Kernel: [2]int{2, 2}, Pad: [4]int{1, 0, 0, 0}})
		},
		func(b *Builder) int {
			return b.MaxPool(0, PoolOptions{Kernel: [2]int{2, 2}, Pad: [4]int{0, 0, 1, 0}})
		},
		func(b *Builder) int { return b.Transpose(0, 0, 2, 1) },
		func(b *Builder) int { return b.Reshape(0, 1, 3, 3) },
		func(b *Builder) int { return b.Pad(0, []int{0, 1, 0}, []int{0, -1, 0}, 0) },
		func(b *Builder) int { return b.Pad(0, []int{0, 1, 0}, []int{0, -1, 0}, 1) },
		func(b *Builder) int { return b.Sum([]float64{1, 1}, 0, 0) },
		func(b *Builder) int { return b.Sum([]float64{1, -1}, 0, 0) },
	} {
		b := NewBuilder(1, 3, 3)
		n, err := b.Network(last(b))
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, n.Digest())
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(digests))); len(distinct) != len(digests) {
		t.Errorf("%d of %d digests are distinct", len(distinct), len(digests))
	}
}
