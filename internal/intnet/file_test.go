package intnet

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

func TestFileKeepsEverything(t *testing.T) {
	for seed := range uint64(40) {
		n := draw(rand.New(rand.NewPCG(seed, 1)), seed%2 == 0)
		data := Encode(n, []byte(`{"made": "here"}`))
		path := testkit.Write(t, data, t.TempDir(), "n.intnet")
		got, note, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, n) || string(note) != `{"made": "here"}` || !IsName(path) {
			t.Fatalf("seed %d: another network comes back", seed)
		}
	}
}

// The identity is of the integers: a text behind them changes nothing, every other bit something.
func TestIdentity(t *testing.T) {
	n := draw(rand.New(rand.NewPCG(5, 1)), false)
	data := Encode(n, nil)
	if other, _, err := Decode(Encode(n, []byte("note"))); err != nil || other.Identity() != n.Identity() {
		t.Errorf("another identity with a note (%v)", err)
	}
	read := 0
	for at := 16; at < len(data); at++ {
		changed := bytes.Clone(data)
		changed[at] ^= 1
		if other, _, err := Decode(changed); err == nil {
			read++
			if other.Identity() == n.Identity() {
				t.Fatalf("byte %d changes nothing", at)
			}
		}
	}
	if read < 20 {
		t.Errorf("%d changed files were read", read)
	}
}

// small is a network of each kind of layer, by hand.
func small() *Network {
	return &Network{Height: 2, Width: 2, Channels: 1, Low: -255, High: 510, Border: []int16{0}, Unit: [2]int32{1, -10}, Layers: []Layer{
		{Op: Conv, From: []int{0}, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Out: 2, Groups: 1, Bias: []int32{1, 2},
			Weight: []int16{300, -300}, Shift: 3, Scale: []int16{100, 200}},
		{Op: Conv, From: []int{1}, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Out: 2, Groups: 2, Bias: []int32{1, 2},
			Weight: []int16{127, -127}, Shift: 3, Scale: []int16{100, 200}, Wide: true},
		{Op: Conv, From: []int{1}, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Out: 2, Groups: 2, Bias: []int32{1, 2},
			Weight: []int16{127, -127}, Shift: 3, Scale: []int16{100, 200}, Addend: 1, Factor: []int16{7}, Bits: 4},
		{Op: Conv, From: []int{1}, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Out: 2, Groups: 2, Bias: []int32{1, 2},
			Weight: []int16{127, -127}, Shift: 3, Scale: []int16{100, 200}, Addend: 2, Bits: 4},
		{Op: Add, From: []int{1, 3}, Factor: []int16{7, 9}, Bits: 4},
		{Op: Concat, From: []int{1, 3, 4, 5}},
		{Op: MaxPool, From: []int{6}, Kernel: [2]int{2, 1}, Stride: [2]int{1, 1}},
		{Op: SumPool, From: []int{7}},
		{Op: Dense, From: []int{8}, Out: 2, Bias: []int32{0, 1}, Weight: make([]int16, 16)},
	}}
}

func TestRefusals(t *testing.T) {
	if err := Check(small()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(n *Network)
		want   string
	}{
		"overflow by weights": {func(n *Network) {
			n.Layers[0].Weight[1] = 32767
			n.High = 32767
			n.Layers[0].Bias[1] = math.MaxInt32 - 32767*32767 + 1
		},
			"layer 1 (convolution): the sum of channel 1 can overflow"},
		"overflow by bias": {func(n *Network) { n.Layers[1].Bias[0] = math.MinInt32 + 255*127 },
			"the sum of channel 0 can overflow"},
		"overflow of a logit":  {func(n *Network) { n.Layers[8].Weight[3] = 32767; n.Layers[8].Bias[0] = math.MaxInt32 - 510*32767 + 1 }, "layer 9 (dense layer): the sum of channel 0"},
		"weight beyond int8":   {func(n *Network) { n.Layers[1].Weight[0] = -128 }, "weight 0 is -128"},
		"multiplier of 0":      {func(n *Network) { n.Layers[1].Scale[1] = 0 }, "multiplier 1 is 0"},
		"multiplier below 0":   {func(n *Network) { n.Layers[1].Scale[1] = -32768 }, "multiplier 1 is -32768"},
		"factor of 0":          {func(n *Network) { n.Layers[2].Factor[0] = 0 }, "factor 0"},
		"factors missing":      {func(n *Network) { n.Layers[4].Factor = n.Layers[4].Factor[:1] }, "1 factors"},
		"shift":                {func(n *Network) { n.Layers[1].Shift = 25 }, "a shift of 25"},
		"shift below 0":        {func(n *Network) { n.Layers[1].Shift = -1 }, "a shift of -1"},
		"bits 0":               {func(n *Network) { n.Layers[3].Bits = 0 }, "0 bits behind the point"},
		"bits 15":              {func(n *Network) { n.Layers[4].Bits = 15 }, "15 bits behind the point"},
		"addend of the future": {func(n *Network) { n.Layers[2].Addend = 3 }, "reads value 3, which no layer"},
		"reads itself":         {func(n *Network) { n.Layers[1].From[0] = 2 }, "reads value 2, which no layer"},
		"reads below 0":        {func(n *Network) { n.Layers[1].From[0] = -1 }, "reads value -1"},
		"convolution of wide":  {func(n *Network) { n.Layers[2].From[0] = 2 }, "reads value 2 of 16-bit numbers"},
		"grid later":           {func(n *Network) { n.Layers[4].From[0] = 0 }, "reads value 0 of grid"},
		"padding":              {func(n *Network) { n.Layers[6].Pad[0] = 2 }, "padding [2 0 0 0]"},
		"kernel too large":     {func(n *Network) { n.Layers[6].Kernel[0] = 3 }, "does not fit"},
		"kernel of 0":          {func(n *Network) { n.Layers[6].Kernel[0] = 0 }, "kernel [0 1]"},
		"stride of 0":          {func(n *Network) { n.Layers[6].Stride[0] = 0 }, "stride [0 1]"},
		"shapes differ": {func(n *Network) {
			n.Layers[5], n.Layers[6] = n.Layers[4], Layer{Op: Add, From: []int{1, 6}}
			n.Layers[5].Op, n.Layers[5].From = Concat, []int{1, 3}
		}, "adds 2 × 2 × 2 bytes and 2 × 2 × 4 bytes"},
		"addend of a shape":   {func(n *Network) { n.Layers[2].Stride[0] = 2 }, "expected bytes of the same shape"},
		"groups":              {func(n *Network) { n.Layers[1].Groups = 3 }, "3 groups of 2 channels"},
		"weights missing":     {func(n *Network) { n.Layers[1].Weight = n.Layers[1].Weight[:1] }, "1 weights"},
		"border missing":      {func(n *Network) { n.Border = nil }, "0 values beyond the edges"},
		"border out of range": {func(n *Network) { n.Border[0] = 511 }, "values [511] beyond"},
		"dense in the middle": {func(n *Network) { n.Layers = append(n.Layers, n.Layers[8]) },
			"expected one dense layer, at the end"},
		"no dense":  {func(n *Network) { n.Layers = n.Layers[:8] }, "expected one dense layer, at the end"},
		"no layers": {func(n *Network) { n.Layers = nil }, "0 layers"},
		"unit":      {func(n *Network) { n.Unit[0] = 0 }, "the unit of logits"},
		"pixels":    {func(n *Network) { n.Low = 511 }, "pixels from 511"},
		"size":      {func(n *Network) { n.Height = 1 << 30 }, "images of"},
		"windows without end": {func(n *Network) {
			n.Height, n.Width, n.Layers[6].Kernel = 2000, 2000, [2]int{1000, 1000}
		}, "the network is too large"},
		"concatenates one": {func(n *Network) { n.Layers[5].From = []int{1} }, "reads 1 values"},
		"unknown":          {func(n *Network) { n.Layers[6].Op = 7 }, "unknown"},
	} {
		n := small()
		c.change(n)
		if err := Check(n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
	}
}

// The largest sums that are allowed are computed as they are.
func TestLargestSums(t *testing.T) {
	n := small()
	n.Layers[0].Weight[1], n.High, n.Low = 32767, 32767, -32767
	n.Layers[0].Bias[1] = math.MaxInt32 - 32767*32767
	n.Layers[0].Shift = 16
	if err := Check(n); err != nil {
		t.Fatal(err)
	}
	got := n.define(0, [][]int32{{32767, -32767, 0, 1}})
	if want := int32(255); got[1] != min(want, scaled(32767, 200)) {
		t.Errorf("%d", got[1])
	}
}

func FuzzDecode(f *testing.F) {
	n := small()
	if err := Check(n); err != nil {
		f.Fatal(err)
	}
	f.Add(Encode(n, []byte("{}")))
	f.Add([]byte(magic))
	f.Add(append([]byte(magic), 255, 255, 255, 255, 255, 255, 255, 255))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, note, err := Decode(data)
		if err != nil {
			return
		}
		if !bytes.Equal(Encode(n, note), data) {
			t.Fatal("a file has two forms")
		}
		size := 0
		for _, v := range n.values {
			size += v.size()
		}
		if n.Products() < 1e4 && size < 1e4 && len(n.Layers) < 50 {
			image := make([]int16, n.Height*n.Width*n.Channels)
			for i := range image {
				image[i] = n.High
			}
			n.Define(image)
		}
	})
}
