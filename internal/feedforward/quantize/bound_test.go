package quantize_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/testkit"
)

// A bound on the confidence is at least that of every image of bytes in the ball, in exact logits: with weights of the
// image and of the last layer at both ends of their type, biases and multipliers at theirs.
func TestConfidenceOfIntegersIsBounded(t *testing.T) {
	const eps = 2. / 255
	tight := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 8))
		pick := func(values ...int16) int16 { return values[random.IntN(len(values))] }
		conv := intnet.Layer{Op: intnet.Conv, From: []int{0}, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Out: 2,
			Groups: 1, Weight: []int16{pick(-32768, 32767), pick(-32768, 32767)}, Shift: 12 + random.IntN(3),
			Bias:  []int32{random.Int32N(1 << 22), random.Int32N(1 << 22)},
			Scale: []int16{pick(1, 300, 32767), pick(300, 32767)}}
		last := intnet.Layer{Op: intnet.Dense, From: []int{1}, Out: 3, Bias: make([]int32, 3)}
		for range 3 * 4 {
			last.Weight = append(last.Weight, pick(-32768, 32767, -32768, 32767, 5))
		}
		for o := range last.Bias {
			last.Bias[o] = int32(pick(-1, 1)) * (math.MaxInt32 - 4*255*32768)
		}
		n := &intnet.Network{Height: 1, Width: 2, Channels: 1, Low: -255, High: 510, Border: []int16{0},
			Unit: [2]int32{1 << 20, -20 - int32(random.IntN(26))}, Layers: []intnet.Layer{conv, last}}
		if err := intnet.Check(n); err != nil {
			t.Fatal(err)
		}
		path := testkit.Write(t, intnet.Encode(n, nil), t.TempDir(), "n.intnet")
		b, err := quantize.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		image := []int16{int16(random.IntN(256)), int16(random.IntN(256))}
		x := []float64{float64(image[0]) / 255, float64(image[1]) / 255}
		ball, err := feedforward.Ball(x, eps, feedforward.Integers)
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.Confidence(t.Context(), x, ball, feedforward.IBP, feedforward.Integers)
		if err != nil {
			t.Fatal(err)
		}
		most := math.Inf(-1)
		for dy := int16(-2); dy <= 2; dy++ {
			for dx := int16(-2); dx <= 2; dx++ {
				at := []int16{min(max(image[0]+dy, 0), 255), min(max(image[1]+dx, 0), 255)}
				most = max(most, logConfidence(n, n.Define(at)))
			}
		}
		if c.LogUpper < most {
			t.Fatalf("seed %d: the bound is %v, and an image in the ball has %v", seed, c.LogUpper, most)
		}
		if c.Log != logConfidence(n, n.Define(image)) {
			t.Errorf("seed %d: confidence %v; want %v", seed, c.Log, logConfidence(n, n.Define(image)))
		}
		if c.LogUpper > c.Log && c.LogUpper < 0 {
			tight++
		}
	}
	if tight < 5 {
		t.Errorf("%d bounds say something", tight)
	}
}

// logConfidence is the logarithm of the largest softmax, from whole differences of logits.
func logConfidence(n *intnet.Network, logits []int32) float64 {
	best, sum := intnet.Best(logits), 0.0
	for c, v := range logits {
		if c != best {
			sum += math.Exp(n.LogitUnit() * float64(int64(v)-int64(logits[best])))
		}
	}
	return -math.Log1p(sum)
}

// Inputs that the network is not made for, and those that are no numbers, are refused before they are whole numbers.
func TestBoxesOutOfRange(t *testing.T) {
	n := &intnet.Network{Height: 1, Width: 1, Channels: 1, Low: 0, High: 255, Border: []int16{0},
		Unit: [2]int32{1, -10}, Layers: []intnet.Layer{
			{Op: intnet.Conv, From: []int{0}, Kernel: [2]int{1, 1}, Stride: [2]int{1, 1}, Out: 1, Groups: 1,
				Bias: []int32{0}, Weight: []int16{1}, Scale: []int16{32767}},
			{Op: intnet.Dense, From: []int{1}, Out: 2, Bias: []int32{0, 0}, Weight: []int16{1, 2}}}}
	if err := intnet.Check(n); err != nil {
		t.Fatal(err)
	}
	path := testkit.Write(t, intnet.Encode(n, nil), t.TempDir(), "n.intnet")
	b, err := quantize.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range []feedforward.Box{{Lower: []float64{-1}, Upper: []float64{.5}},
		{Lower: []float64{0}, Upper: []float64{300}}, {Lower: []float64{math.NaN()}, Upper: []float64{1}},
		{Lower: []float64{0}, Upper: []float64{math.Inf(1)}}, {Lower: []float64{-129}, Upper: []float64{257}}} {
		_, err := b.Confidence(t.Context(), []float64{.5}, box, feedforward.IBP, feedforward.Integers)
		if err == nil || !strings.Contains(err.Error(), "made for 0 to 255") {
			t.Errorf("%v: %v", box, err)
		}
	}
	tiny := *n
	tiny.Unit = [2]int32{1, -900}
	if _, err := quantize.ONNX(&tiny); err == nil || !strings.Contains(err.Error(), "the unit of logits") {
		t.Errorf("a unit below float32: %v", err)
	}
}
