package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/progress"
)

// trainCases compares training images per second. Ours is train.Run with all that it does: shuffled
// data, crop and flip, noise, step, log; the others take a step on random images with noise.
func trainCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	var cases []comparison
	for _, name := range s.nets {
		data := "synthetic"
		if name == nets.SmallCNN {
			data = "fashionmnist"
		}
		for _, batch := range s.batches {
			entries := []entry{{"certspec: train.Run", &training{net: name, data: data, batch: batch, backend: s.backend}}}
			entries = append(entries, pythonEntries(python, scripts, work{Task: "train", Net: name, Batch: batch})...)
			cases = append(cases, comparison{fmt.Sprintf("%s, batch %d", name, batch), 1, entries})
		}
	}
	return cases, nil
}

// training is a run of train.Run that is held up in its reports of progress while it is not its turn.
type training struct {
	net, data, backend string
	batch              int

	version string
	stop    context.CancelFunc
	reports chan progress.State
	ended   chan error
}

func (t *training) Version() string { return t.version }

func (t *training) Prepare(ctx context.Context) error {
	b, err := backend.OpenForTraining(t.backend)
	if err != nil {
		return err
	}
	t.version = b.Engine + " " + b.Version
	images, err := dataset.Open(t.data + "/train")
	if err != nil {
		return err
	}
	test, err := dataset.Open(t.data + "/test")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return err
	}
	ctx, t.stop = context.WithCancel(ctx)
	t.reports, t.ended = make(chan progress.State), make(chan error, 1)
	go func() {
		defer os.RemoveAll(dir)
		_, err := train.Run(ctx, train.Options{
			Train: images, Test: test, Out: filepath.Join(dir, "net"), Net: t.net, Sigma: sigma,
			BatchSize: t.batch, Epochs: 1000, Augment: train.CropFlip, Backend: t.backend,
			Progress: func(s progress.State) {
				select {
				case t.reports <- s:
				case <-ctx.Done():
				}
			},
		})
		t.ended <- err
	}()
	_, _, err = t.Run(ctx, time.Second) // compiles, and fills the queue of batches
	return err
}

// Run times from one report to another: between them the run is not held up.
func (t *training) Run(ctx context.Context, d time.Duration) (units float64, elapsed time.Duration, err error) {
	first, err := t.report(ctx)
	if err != nil {
		return 0, 0, err
	}
	for start := time.Now(); ; {
		s, err := t.report(ctx)
		if err != nil {
			return 0, 0, err
		}
		if elapsed = time.Since(start); elapsed >= d {
			return s.Done - first.Done, elapsed, nil
		}
	}
}

func (t *training) report(ctx context.Context) (progress.State, error) {
	select {
	case s := <-t.reports:
		return s, nil
	case err := <-t.ended:
		t.ended <- err
		return progress.State{}, fmt.Errorf("the training ended before its time: %w", err)
	case <-ctx.Done():
		return progress.State{}, ctx.Err()
	}
}

func (t *training) Close() {
	if t.stop == nil {
		return
	}
	t.stop()
	<-t.ended
	t.stop = nil
}
