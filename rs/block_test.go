package rs

import (
	"context"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

// A sample whose noise could not be drawn is a miss, whatever the model says of it; so is one that the model leaves out.
func TestFailedSamplesAreMisses(t *testing.T) {
	model := classifier.Constant{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 3, Class: 2}
	info, err := model.Info()
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBlocks(model, info, noise.LawGrid, .25, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	buf := b.newBuffer()
	if err := b.draw(buf, []int16{7}, nil, 1, 0); err != nil {
		t.Fatal(err)
	}
	buf.failed = []int{0, 9}
	counts, misses, err := b.classify(context.Background(), buf)
	if err != nil || misses != 2 || len(counts) != 1 || counts[0] != (ledger.Count{Class: 2, N: 8}) {
		t.Errorf("%v, %d misses, %v", counts, misses, err)
	}
	b.model = silent{model}
	if counts, misses, err = b.classify(context.Background(), buf); err != nil || misses != 10 || len(counts) != 0 {
		t.Errorf("%v, %d misses, %v", counts, misses, err)
	}
}

type silent struct{ classifier.Classifier }

func (silent) Classify(context.Context, classifier.Batch, *classifier.Result) error { return nil }
