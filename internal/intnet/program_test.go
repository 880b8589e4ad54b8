package intnet

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// equal compares a kernel with the definition on images, and says where they differ.
func equal(t *testing.T, n *Network, kernel string, images []int16) (differ bool) {
	t.Helper()
	p, err := n.Program(kernel)
	if err != nil {
		t.Fatal(err)
	}
	return differs(t, p, images)
}

func differs(t *testing.T, p *Program, images []int16) bool {
	t.Helper()
	n, kernel := p.Network, p.kernel
	size, classes := n.values[0].size(), n.Classes()
	got := make([]int32, len(images)/size*classes)
	if err := p.Run(images, got); err != nil {
		t.Fatal(err)
	}
	for i := range len(images) / size {
		want := n.Define(images[i*size : (i+1)*size])
		if row := got[i*classes : (i+1)*classes]; !slices.Equal(row, want) {
			t.Errorf("kernel %s, image %d: logits %v; want %v", kernel, i, row, want)
			for _, v := range n.values {
				t.Log(v)
			}
			for i := range n.Layers {
				l := n.Layers[i]
				l.Weight, l.Bias, l.Scale = nil, nil, nil
				t.Logf("%d %+v", i+1, l)
			}
			return true
		}
	}
	return false
}

// Every kernel has the logits of the definition: on random networks of all layers with torn shapes, odd channels, groups
// and strides, on parameters and pixels at the ends of their ranges.
func TestKernelsAreTheDefinition(t *testing.T) {
	networks := uint64(400)
	if testing.Short() {
		networks = 60
	}
	distinct, turns := 0, 0
	for seed := range networks {
		random := rand.New(rand.NewPCG(seed, 21))
		n := draw(random, seed%3 == 0)
		x := images(random, n, 1+random.IntN(2*8+3))
		size := n.values[0].size()
		if len(x) > size && !slices.Equal(n.Define(x[:size]), n.Define(x[size:2*size])) {
			distinct++
		}
		for _, kernel := range vectorKernels {
			if equal(t, n, kernel, x) {
				t.Fatalf("seed %d", seed)
			}
			// as a network runs whose weights leave the cache
			p := &Program{Network: n, kernel: kernel, vector: newVectorProgram(n, kernel, 0)}
			if p.vector.heavy < p.vector.tail {
				turns++
			}
			if differs(t, p, x) {
				t.Fatalf("seed %d, images in turn", seed)
			}
		}
	}
	if len(vectorKernels) > 0 && turns < int(networks)/8 {
		t.Errorf("%d programs serve images in turn", turns)
	}
	if distinct < int(networks)/4 {
		t.Errorf("%d of %d networks tell images apart", distinct, networks)
	}
}

// Calls at once and one after the other do not meet in memory.
func TestProgramsRunAtOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 22))
	n := draw(random, false)
	x := images(random, n, 20)
	for _, kernel := range Kernels() {
		p, err := n.Program(kernel)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int32, 20*n.Classes())
		if err := p.Run(x, want); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 5 {
					got := make([]int32, len(want))
					if err := p.Run(x, got); err != nil || !slices.Equal(got, want) {
						t.Errorf("kernel %s: other logits, or %v", kernel, err)
					}
				}
			})
		}
		group.Wait()
	}
}

func TestPixelsOutOfRange(t *testing.T) {
	n := small()
	if err := Check(n); err != nil {
		t.Fatal(err)
	}
	for _, kernel := range Kernels() {
		p, err := n.Program(kernel)
		if err != nil {
			t.Fatal(err)
		}
		for at := range 12 {
			for _, v := range []int16{-256, 511} {
				x := make([]int16, 12)
				x[at] = v
				var out *RangeError
				if err := p.Run(x, make([]int32, 6)); !errors.As(err, &out) || out.Image != at/4 || out.Place != at%4 || out.Value != v {
					t.Errorf("kernel %s, value %d: %v", kernel, at, err)
				}
			}
		}
	}
	if _, err := n.Program("none"); err == nil || !strings.Contains(err.Error(), "or plain") && !strings.Contains(err.Error(), "expected plain") {
		t.Error(err)
	}
}
