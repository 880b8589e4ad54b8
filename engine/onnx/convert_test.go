package onnx

import (
	"fmt"
	"math"
	"testing"

	"github.com/x448/float16"
	"pgregory.net/rapid"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// BenchmarkFill is the price of one image on its way into the network.
func BenchmarkFill(b *testing.B) {
	for _, l := range []layout{
		{shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, planar: true, name: nchw, kind: onnxfile.Float32},
		{shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, name: nhwc, kind: onnxfile.Float32},
		{shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, planar: true, name: nchw, kind: onnxfile.Float32},
	} {
		for name, card := range map[string]Card{"plain": {}, "normalised": {Mean: []float64{.4}, Std: []float64{.2}}} {
			b.Run(fmt.Sprintf("%v/%s/%s", l.shape, l.name, name), func(b *testing.B) {
				card, err := card.complete(l)
				if err != nil {
					b.Fatal(err)
				}
				fill, batch := newFiller(l, card, 1), noisy(l.shape, 128)
				dst := values{floats: make([]float32, 128*l.shape.Len())}
				for b.Loop() {
					fill(&dst, 0, batch, 0, 128)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/128, "ns/image")
			})
		}
	}
}

// The rounding to bytes and to float16, from their definitions.
func TestRounding(t *testing.T) {
	for v, want := range map[float64]uint8{-3: 0, 0: 0, .5: 0, 1.5: 2, 2.5: 2, 254.4: 254, 254.6: 255, 1e9: 255, math.Inf(1): 255, math.Inf(-1): 0, math.NaN(): 0} {
		if got := toUint8(v); got != want {
			t.Errorf("toUint8(%v) = %d; expected %d", v, got, want)
		}
	}
	// IEEE 754 binary16: 1 is 0x3c00, its successor 1 + 2^-10; halfway goes to even.
	for v, want := range map[float64]uint16{0: 0, 1: 0x3c00, -2: 0xc000, 1 + 1.0/1024: 0x3c01, 1 + 1.0/2048: 0x3c00, 1 + 3.0/2048: 0x3c02, 65504: 0x7bff, 1e6: 0x7c00} {
		if got := toFloat16(v); got != want {
			t.Errorf("toFloat16(%v) = %#x; expected %#x", v, got, want)
		}
	}
	out := values{halves: []uint16{0x3c00, 0xc000, float16.Inf(1).Bits()}}
	if got := out.logits(nil); got[0] != 1 || got[1] != -2 || !math.IsInf(float64(got[2]), 1) {
		t.Errorf("float16 outputs %v", got)
	}
}

// Property: any part of a batch, on any number of threads, has the answers to the images one by
// one.
func TestFillParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layout{
			shape:  pixel.Shape{Height: rapid.IntRange(1, 40).Draw(t, "h"), Width: rapid.IntRange(1, 40).Draw(t, "w"), Channels: rapid.SampledFrom([]int{1, 3}).Draw(t, "c")},
			planar: rapid.Bool().Draw(t, "planar"), kind: onnxfile.Float32,
		}
		card, err := Card{Mean: []float64{.1}, Std: []float64{.3}}.complete(l)
		if err != nil {
			t.Fatal(err)
		}
		const n = 64
		fill, batch, size := newFiller(l, card, rapid.IntRange(1, 5).Draw(t, "threads")), noisy(l.shape, n), l.shape.Len()
		whole, single := values{floats: make([]float32, n*size)}, values{floats: make([]float32, n*size)}
		fill(&whole, 0, batch, 0, n)
		for i := range n {
			fill(&single, i, classifier.Batch{N: 1, Grid: batch.Grid[i*size : (i+1)*size]}, 0, 1)
		}
		for i := range whole.floats {
			if whole.floats[i] != single.floats[i] {
				t.Fatalf("value %d of image %d: %v in a batch, %v alone", i%size, i/size, whole.floats[i], single.floats[i])
			}
		}
	})
}
