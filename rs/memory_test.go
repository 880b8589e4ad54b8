package rs

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/pixel"
)

// Large blocks have no spare buffers, and no more of them are there than memory allows.
func TestCrew(t *testing.T) {
	draw := min(max(1, runtime.GOMAXPROCS(0)/2), 8)
	for _, c := range []struct {
		workers       int
		block, memory int64
		want          crew
	}{
		{4, 1 << 20, 0, crew{draw, 4, 4 + draw + 2}},
		{64, 100 << 20, 0, crew{min(draw, 2), 64, 64 + min(draw, 2)}},
		{64, 100 << 20, 500 << 20, crew{min(draw, 2), 4, 5}},
		{64, 100 << 20, 150 << 20, crew{1, 1, 1}},
		{2, 1 << 10, 1 << 40, crew{draw, 2, 2 + draw + 2}},
	} {
		if got := crewOf(c.workers, c.block, c.memory); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c, got, c.want)
		}
	}
}

// A block that memory does not hold is refused with its size before the first sample; within any memory, counts stay.
func TestMemory(t *testing.T) {
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 3}
	im := &imageset.Images{Name: "x", Shape: shape, Classes: []string{"0", "1"}, IDs: []int{0, 1}, Labels: []int{0, 1},
		Pixels: make([]uint8, 2*shape.Len())}
	im.Digest = im.ContentDigest()
	model := classifier.Step{Shape: shape, Thresholds: []float64{0.1}}
	for _, rule := range []Rule{Fixed, Staged, Anytime} {
		o := Options{Sigma: .25, Rule: rule, MaxSamples: 2000, Workers: 3}
		if rule == Anytime {
			o.MaxSamples, o.Until.Samples = 0, 3000
		}
		var runs []*Run
		for _, blocks := range []int64{0, 1, 2, 1 << 30} {
			o.Memory = blocks * 100 * 2 * int64(shape.Len())
			run, err := Certify(t.Context(), model, inMemory{im}, o)
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
			if got, err := o.MemoryOf(classifier.Info{Shape: shape, Classes: 2}); err != nil || got <= 0 || blocks > 0 && got > o.Memory {
				t.Errorf("%s, memory %d: %d, %v", rule, o.Memory, got, err)
			}
		}
		for _, run := range runs[1:] {
			if run.Misses() != runs[0].Misses() || run.Passes() != runs[0].Passes() || run.Rows[0] != runs[0].Rows[0] || run.Rows[1] != runs[0].Rows[1] {
				t.Errorf("%s: %v, want %v", rule, run.Rows, runs[0].Rows)
			}
		}
		o.Memory = 100
		if _, err := Certify(t.Context(), model, inMemory{im}, o); err == nil || !strings.Contains(err.Error(), "Block is 100") {
			t.Errorf("%s: %v", rule, err)
		}
	}
	o := Options{Sigma: .25, Block: 1 << 29, MaxSamples: 1 << 29, Selection: 1 << 29}
	huge := pixel.Shape{Height: 4096, Width: 4096, Channels: 3}
	if _, err := o.MemoryOf(classifier.Info{Shape: huge, Classes: 2}); runtime.GOOS == "linux" && (err == nil || !strings.Contains(err.Error(), "free")) {
		t.Errorf("more than any machine has: %v", err)
	}
}

type inMemory struct{ *imageset.Images }

func (m inMemory) Load(context.Context) (*imageset.Images, error) { return m.Images, nil }
