package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/progress"
)

// trainCases compares training images per second. Ours is train.Run with all that it does: shuffled
// data, views by FourierMix where the method takes some, crop and flip, noise, step, log; the others take a step on random
// images with noise. Each has a process of its own, as steps of a run that is held up go on for a moment.
func trainCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var cases []comparison
	for _, net := range s.nets {
		for _, rows := range s.batches {
			for _, name := range s.methods {
				t, err := newTraining(net, name, rows, s.backend)
				if err != nil {
					return nil, err
				}
				ours := func(title, choice string) entry {
					return entry{title, &worker{command: []string{self, "worker"}, work: work{Task: "train", Net: net, Batch: rows, Method: name, Engine: choice}}}
				}
				entries := []entry{ours("certspec: train.Run", s.backend)}
				if s.backend == "" {
					entries = append(entries, ours("certspec: train.Run, Winograd's kernels", "xla:cpu,kernels=winograd"), ours("certspec, XLA's own convolutions", "xla:cpu,kernels=off"))
					if cpu.X86.HasAVX512BF16 {
						entries = append(entries, ours("certspec: train.Run, bfloat16 kernels", "xla:cpu,kernels=bf16"))
					}
				}
				w := work{Task: "train", Net: net, Batch: t.batch, Method: name}
				if name == "gaussian" {
					entries = append(entries, pythonEntries(python, scripts, w)...)
				} else {
					entries = append(entries,
						entry{"PyTorch eager, tuned malloc", pythonWorker(python, scripts, "torch", "eager", w, largeHeap...)},
						entry{"PyTorch eager, channels last, tuned malloc", pythonWorker(python, scripts, "torch", "channels-last", w, largeHeap...)},
						entry{"torch.compile", pythonWorker(python, scripts, "torch", "compile", w, largeHeap...)},
						entry{"JAX jit", pythonWorker(python, scripts, "jax", "jit", w)})
				}
				if t.method.Needs().Adversary == nil { // whose steps nobody counted
					bound, err := limit(net, t.rows)
					if err != nil {
						return nil, err
					}
					entries = append(entries, bound...)
				}
				cases = append(cases, comparison{t.title(), 1, entries})
			}
		}
	}
	return cases, nil
}

// actCases compares the adversaries of calibration training with that of SmoothAdv: all take as many steps under as many noises.
func actCases(_ context.Context, s settings) ([]comparison, error) {
	var cases []comparison
	for _, net := range s.nets {
		for _, rows := range s.batches {
			var entries []entry
			var title string
			for _, name := range []string{"smoothadv", "brier-act", "acce-act", "exact-act"} {
				t, err := newTraining(net, name, rows, s.backend)
				if err != nil {
					return nil, err
				}
				title = fmt.Sprintf("%s, %d images in %d rows", net, t.batch, rows)
				entries = append(entries, entry{name, t})
			}
			cases = append(cases, comparison{title, 1, entries})
		}
	}
	return cases, nil
}

// newTraining is a run of a method with its defaults, whose steps have about so many rows.
func newTraining(net, name string, rows int, backend string) (*training, error) {
	m, err := method.New(name)
	if err != nil {
		return nil, err
	}
	t := &training{net: net, data: "synthetic", method: m, backend: backend}
	if net == "small-cnn" {
		t.data = "fashionmnist"
	}
	t.rows = m.Needs().Views * m.Needs().Noises
	t.batch = max(rows/t.rows, 2)
	return t, nil
}

func (t *training) title() string {
	return fmt.Sprintf("%s, %s: %d images in %d rows", t.net, t.method.Name(), t.batch, t.batch*t.rows)
}

// options of the run, which lasts until it is stopped.
func (t *training) options(images, test, out *dataset.Dataset, file string) train.Options {
	o := train.Options{
		Network: t.net, Sigma: new(sigma), BatchSize: t.batch, Epochs: 1000, Augment: "crop-flip",
		Own: train.Own{Method: t.method}, Train: images, Test: test, Out: file, Backend: t.backend,
	}
	if t.prune != "" {
		o.Prune, o.Sparsity = t.prune, new(0.9)
		if t.prune == "gmp" { // from the first step on
			o.PruneOptions = map[string]any{"begin": 0.}
		}
	}
	if out != nil {
		o.Sigma, o.Augment = new(0.0), "none"
		o.More = map[string]train.Set{"out": {Data: out}}
	}
	if t.method.Needs().Views > 1 {
		o.Own.Views = augment.FourierMix{}
	}
	return o
}

// training is a run of train.Run that is held up in its reports of progress while it is not its turn.
type training struct {
	net, data, backend string
	method             method.Method
	prune              string // how; empty for not at all
	out                string // data set of out-images; then labelled images have neither noise nor augmentation
	batch, rows        int    // images in a step, and rows of the network for each of them
	processor          bool

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
	var out *dataset.Dataset
	if t.out != "" {
		if out, err = dataset.Open(t.out); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return err
	}
	ctx, t.stop = context.WithCancel(ctx)
	t.reports, t.ended = make(chan progress.State), make(chan error, 1)
	go func() {
		defer os.RemoveAll(dir)
		o := t.options(images, test, out, filepath.Join(dir, "net"))
		o.Progress = func(s progress.State) {
			select {
			case t.reports <- s:
			case <-ctx.Done():
			}
		}
		_, err := train.Run(ctx, o)
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
	now := clock(t.processor)
	for passed, begin := time.Now(), now(); ; {
		s, err := t.report(ctx)
		if err != nil {
			return 0, 0, err
		}
		if time.Since(passed) >= d {
			return s.Done - first.Done, now() - begin, nil
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
