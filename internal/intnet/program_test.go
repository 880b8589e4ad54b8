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

// Rows of three pixels one beside the other, on bytes and on an image of one channel: every width and remainder of a
// tile, every kind of result and addend.
func TestTilesThatSlide(t *testing.T) {
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 5))
		n := &Network{Height: 1 + random.IntN(4), Width: 14 + random.IntN(24), Channels: 1, Low: -255, High: 510,
			Border: []int16{9}, Unit: [2]int32{1, -8}}
		conv := func(from, in, out int, kernel, stride [2]int, pad [4]int) Layer {
			l := Layer{Op: Conv, From: []int{from}, Kernel: kernel, Stride: stride, Pad: pad, Out: out, Groups: 1, Shift: 5}
			for range out {
				l.Bias, l.Scale = append(l.Bias, random.Int32N(1000)), append(l.Scale, int16(1+random.IntN(32767)))
			}
			for range out * kernel[0] * kernel[1] * in {
				l.Weight = append(l.Weight, int16(random.IntN(255)-127))
			}
			return l
		}
		channels, kernel, stride := 1+random.IntN(40), [2]int{1 + random.IntN(3), 3}, [2]int{1 + random.IntN(2), 1}
		pad, outs := [4]int{kernel[0] - 1, random.IntN(3), random.IntN(kernel[0]), random.IntN(3)}, []int{1, 5, 16, 40}[seed%4]
		first := conv(1, channels, outs, kernel, stride, pad)
		second := conv(1, channels, outs, kernel, stride, pad)
		first.Wide, second.Addend, second.Bits = seed%3 == 0, 2, 1+random.IntN(14)
		if !first.Wide {
			second.Factor = []int16{int16(1 + random.IntN(32767))}
		}
		enter := conv(0, 1, channels, [2]int{1, 1}, [2]int{1, 1}, [4]int{})
		if rows := 1 + random.IntN(3); seed%2 == 1 { // that keeps the size
			enter = conv(0, 1, channels, [2]int{rows, 3}, [2]int{1, 1}, [4]int{rows - 1, 1, 0, 1})
		}
		n.Layers = []Layer{enter, first, second}
		rows := (n.Height+pad[0]+pad[2]-kernel[0])/stride[0] + 1
		last := conv(3, rows*(n.Width+pad[1]+pad[3]-2)*outs, 3, [2]int{1, 1}, [2]int{}, [4]int{})
		n.Layers = append(n.Layers, Layer{Op: Dense, From: last.From, Out: 3, Bias: last.Bias, Weight: last.Weight})
		if err := Check(n); err != nil {
			t.Fatal(err)
		}
		for _, kernel := range vectorKernels {
			if equal(t, n, kernel, images(random, n, 3)) {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}
