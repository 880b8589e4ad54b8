package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
)

// counting is a model that counts the samples it has seen.
type counting struct{ samples chan int }

func (c counting) Info() (classifier.Info, error) {
	return classifier.Info{Name: "counting", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 2}, nil
}

func (c counting) Classify(_ context.Context, batch classifier.Batch, _ *classifier.Result) error {
	time.Sleep(time.Millisecond)
	c.samples <- <-c.samples + batch.N
	return nil
}

func TestGatedCountsItsTurnsOnly(t *testing.T) {
	model := counting{make(chan int, 1)}
	model.samples <- 0
	seen := func() int { n := <-model.samples; model.samples <- n; return n }
	closed := false
	g := &gated{
		open: func() (classifier.Classifier, func(), error) { return model, func() { closed = true }, nil },
		work: func(ctx context.Context, m classifier.Classifier) error { return classifyForEver(ctx, m, 7) },
	}
	if err := g.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		before := seen()
		units, elapsed, err := g.Run(context.Background(), 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		after := seen()
		if int(units) != after-before || units == 0 || elapsed < 20*time.Millisecond {
			t.Errorf("%v noise samples in %v, want %d in at least 20ms", units, elapsed, after-before)
		}
		time.Sleep(5 * time.Millisecond)
		if n := seen(); n != after {
			t.Errorf("%d noise samples while it was not its turn", n-after)
		}
	}
	g.Close()
	if !closed {
		t.Error("the model is open after Close")
	}
}

func TestGatedReportsTheEnd(t *testing.T) {
	broken := errors.New("out of memory")
	g := &gated{
		open: func() (classifier.Classifier, func(), error) { return counting{}, func() {}, nil },
		work: func(context.Context, classifier.Classifier) error { return broken },
	}
	defer g.Close()
	for range 2 {
		if err := g.Prepare(context.Background()); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
}

// stuck is a model that never answers from a moment on.
type stuck struct {
	counting
	now *atomic.Bool
}

func (s stuck) Classify(context.Context, classifier.Batch, *classifier.Result) error {
	if s.now.Load() {
		select {}
	}
	return nil
}

// An interrupt ends a turn of a model that never answers.
func TestInterruptReachesAStuckModel(t *testing.T) {
	model := stuck{now: &atomic.Bool{}}
	g := &gated{
		open: func() (classifier.Classifier, func(), error) { return model, func() {}, nil },
		work: func(ctx context.Context, m classifier.Classifier) error { return classifyForEver(ctx, m, 7) },
	}
	if err := g.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	model.now.Store(true)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, _, err := g.Run(ctx, time.Hour)
		ended <- err
	}()
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A gate that is closed sends callers back at once, whatever their context.
func TestClosedGate(t *testing.T) {
	g := newGate(counting{})
	waits := make(chan error, 1)
	go func() { waits <- g.Classify(context.Background(), classifier.Batch{N: 1}, nil) }()
	g.close()
	for _, err := range []error{<-waits, g.Classify(context.Background(), classifier.Batch{N: 1}, nil)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}
