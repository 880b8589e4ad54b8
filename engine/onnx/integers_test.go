package onnx

import (
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/testkit"
)

// whole is an integer network with every layer and every ending of one, of random integers.
func whole(t *testing.T, random *rand.Rand) *intnet.Network {
	n := &intnet.Network{Height: 9, Width: 8, Channels: 3, Low: -255, High: 510, Border: []int16{120, -7, 300},
		Unit: [2]int32{3, -12}}
	add := func(l intnet.Layer) int {
		n.Layers = append(n.Layers, l)
		return len(n.Layers)
	}
	conv := func(from, in, out, kernel, stride, groups, most, shift int, end intnet.Layer) int {
		l := end
		l.Op, l.From, l.Out, l.Groups, l.Shift = intnet.Conv, []int{from}, out, groups, shift
		l.Kernel, l.Stride = [2]int{kernel, kernel}, [2]int{stride, stride}
		l.Pad = [4]int{kernel / 2, kernel / 2, kernel / 2, kernel / 2}
		for range out * kernel * kernel * in / groups {
			l.Weight = append(l.Weight, int16(random.IntN(2*most+1)-most))
		}
		for range out {
			l.Bias = append(l.Bias, int32(random.IntN(40001)-10000))
			l.Scale = append(l.Scale, int16(2000+random.IntN(8000)))
		}
		return add(l)
	}
	a := conv(0, 3, 6, 3, 1, 1, 2047, 5, intnet.Layer{})
	b := conv(a, 6, 6, 3, 1, 2, 127, 2, intnet.Layer{Addend: a, Factor: []int16{9000}, Bits: 4})
	wide := conv(b, 6, 8, 1, 2, 1, 127, 2, intnet.Layer{Wide: true})
	c := conv(b, 6, 8, 3, 2, 1, 127, 3, intnet.Layer{Addend: wide, Bits: 4})
	d := add(intnet.Layer{Op: intnet.MaxPool, From: []int{c}, Kernel: [2]int{3, 3}, Stride: [2]int{1, 1},
		Pad: [4]int{1, 1, 1, 1}})
	e := add(intnet.Layer{Op: intnet.Add, From: []int{c, d}, Factor: []int16{3000, 2500}, Bits: 4})
	f := add(intnet.Layer{Op: intnet.Concat, From: []int{e, c}})
	classes, inputs := 5, 16
	last := intnet.Layer{Op: intnet.Dense, From: []int{f}, Out: classes}
	if random.IntN(2) == 0 {
		last.From[0] = add(intnet.Layer{Op: intnet.SumPool, From: []int{f}})
	} else {
		inputs *= 5 * 4
	}
	for range classes * inputs {
		last.Weight = append(last.Weight, int16(random.IntN(8001)-4000))
	}
	for range classes {
		last.Bias = append(last.Bias, int32(random.IntN(1000)))
	}
	add(last)
	if err := intnet.Check(n); err != nil {
		t.Fatal(err)
	}
	return n
}

// As ONNX, integer networks have the same logits in ONNX Runtime with its optimiser and without.
func TestIntegerNetworksAsONNX(t *testing.T) {
	if _, err := Library(""); err != nil {
		t.Skip(err)
	}
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 5))
		n := whole(t, random)
		file, err := quantize.ONNX(n)
		if err != nil {
			t.Fatal(err)
		}
		path := testkit.Write(t, file, t.TempDir(), "whole.onnx")
		const images = 40
		size := n.Height * n.Width * n.Channels
		grid := make([]int16, images*size)
		for i := range grid {
			grid[i] = int16(random.IntN(766) - 255)
		}
		distinct := map[int32]bool{}
		for _, plain := range []bool{false, true} {
			m, err := Open(path, Options{plain: plain})
			if err != nil {
				t.Fatal(err)
			}
			got := classifier.Result{Classes: make([]int32, images), Logits: make([]float32, images*n.Classes())}
			if err := m.Classify(t.Context(), classifier.Batch{N: images, Grid: grid}, &got); err != nil {
				t.Fatal(err)
			}
			m.Close()
			for i := range images {
				logits := n.Define(grid[i*size : (i+1)*size])
				best := intnet.Best(logits)
				distinct[logits[0]] = true
				if int(got.Classes[i]) != best {
					t.Errorf("seed %d, image %d: class %d; want %d", seed, i, got.Classes[i], best)
				}
				for c, v := range logits {
					want := float32(v-logits[best]) * float32(n.LogitUnit())
					if have := got.Logits[i*n.Classes()+c]; have != want {
						t.Fatalf("seed %d, image %d, optimised %v: logit %d is %v; want %v", seed, i, !plain, c, have, want)
					}
				}
			}
		}
		if len(distinct) < images/2 {
			t.Errorf("seed %d: images have the same logits", seed)
		}
	}
}
