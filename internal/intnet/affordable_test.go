package intnet

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// wide has some layers between a pixel that becomes channels bytes and two classes of one sum a channel.
func wide(height, width, channels int, layers ...Layer) *Network {
	n := &Network{Height: height, Width: width, Channels: 1, Low: -255, High: 510, Border: []int16{0},
		Unit: [2]int32{1, -10}, Layers: []Layer{depthwise(0, 1, channels, 1)}}
	n.Layers = append(n.Layers, layers...)
	n.Layers = append(n.Layers, Layer{Op: SumPool, From: []int{len(n.Layers)}})
	n.Layers = append(n.Layers, Layer{Op: Dense, From: []int{len(n.Layers)}, Out: 2, Bias: make([]int32, 2),
		Weight: make([]int16, 2*channels)})
	return n
}

// depthwise is a convolution of in groups.
func depthwise(from, in, out, side int) Layer {
	l := Layer{Op: Conv, From: []int{from}, Kernel: [2]int{side, side}, Stride: [2]int{1, 1}, Out: out, Groups: in,
		Bias: make([]int32, out), Weight: make([]int16, out*side*side), Scale: make([]int16, out)}
	for i := range l.Scale {
		l.Scale[i] = 1
	}
	return l
}

func window(from, side, pad, stride int) Layer {
	return Layer{Op: MaxPool, From: []int{from}, Kernel: [2]int{side, side}, Stride: [2]int{stride, stride},
		Pad: [4]int{pad, pad, pad, pad}}
}

// A network is refused by what its kernels would allocate and compute, before they do: small files that ask for much.
func TestRefusedByCost(t *testing.T) {
	chain := func(count int, layer func(from int) Layer) (layers []Layer) {
		for i := range count {
			layers = append(layers, layer(i+1))
		}
		return layers
	}
	classes := wide(1, 1, 1)
	last := &classes.Layers[2]
	last.Out, last.Bias, last.Weight = 60000, make([]int32, 60000), make([]int16, 60000)
	heavy := wide(600, 600, 16, depthwise(1, 16, 16, 1))
	heavy.Layers[1].Groups, heavy.Layers[1].Out, heavy.Layers[1].Weight = 1, 16, make([]int16, 16*16)
	for name, c := range map[string]struct {
		network *Network
		want    string
	}{
		"a border of 4,095 pixels": {wide(1, 1, 1, window(1, 4096, 4095, 4096)), "MiB of memory"},
		"the largest border":       {wide(1, 1, 1, window(1, 16384, 16383, 16384)), "MiB of memory"},
		"borders that grow": {wide(1, 1, 1,
			chain(3000, func(from int) Layer { return window(from, 9, 8, 1) })...), "numbers to here"},
		"a channel filled up to 16": {wide(2600, 2600, 1, depthwise(1, 1, 1, 1), depthwise(1, 1, 1, 1)), "MiB of memory"},
		"many values at once": {wide(1024, 1024, 15,
			chain(12, func(int) Layer { return window(1, 1, 0, 1) })...), "numbers to here"},
		"windows without end": {wide(600, 600, 16, window(1, 400, 200, 1)), "million products"},
		"windows of one": {wide(1500, 1500, 1,
			chain(200, func(int) Layer { return window(1, 1500, 0, 1) })...), "a kernel"},
		"pixels many, channels few": {wide(500, 500, 2,
			chain(20, func(from int) Layer { return depthwise(from, 2, 2, 24) })...), "million products"},
		"groups packed": {wide(8, 8, 1<<16,
			chain(5, func(int) Layer { return depthwise(1, 1<<16, 1<<16, 8) })...), "packed for a kernel"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := Check(c.network)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "too large") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
			t.Errorf("%s: %d bytes were allocated before the refusal", name, got)
		}
	}
	if err := Check(classes); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := classes.Bounds(""); err == nil || !strings.Contains(err.Error(), "60000 classes") {
		t.Errorf("bounds of 60,000 classes: %v", err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%d bytes were allocated before the refusal", after.TotalAlloc-before.TotalAlloc)
	}
	if err := Check(heavy); err != nil {
		t.Errorf("a network of common size: %v", err)
	}
}

// What a layer keeps and computes is at most its cost, whatever the kernel: on random networks.
func TestCostCovers(t *testing.T) {
	for seed := range uint64(200) {
		n := draw(rand.New(rand.NewPCG(seed, 33)), seed%2 == 0)
		for i := range n.Layers {
			l := &n.Layers[i]
			bytes, products := l.cost(n.values[l.From[0]], n.values[i+1])
			if least := 2 * len(l.Weight); bytes < least || products*n.values[i+1].size() < int(n.products(i)) {
				t.Fatalf("seed %d, layer %d: cost %d, %d", seed, i+1, bytes, products)
			}
		}
		most := n.lay(false, nearWeights).bytes
		for _, p := range packed(n) {
			for i, kept := range p.layers {
				bytes, _ := n.Layers[i].cost(n.values[n.Layers[i].From[0]], n.values[i+1])
				if kept > bytes {
					t.Fatalf("seed %d, layer %d (%v, groups %d): %s keeps %d bytes; its cost says %d", seed, i+1,
						n.Layers[i].Op, n.Layers[i].Groups, p.kernel, kept, bytes)
				}
			}
			if p.workspace > most+1<<20 {
				t.Fatalf("seed %d: a workspace of %s has %d bytes; the layout says %d", seed, p.kernel, p.workspace,
					most)
			}
		}
	}
}

type weighed struct {
	kernel    string
	layers    []int // bytes, with the weights as read
	workspace int
}
