package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// pictures writes a folder of 8×8 pictures in three classes that differ in brightness.
func pictures(t testing.TB, dir string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for class, level := range []int{40, 120, 200} {
		for i := range 14 {
			picture := image.NewRGBA(image.Rect(0, 0, 8, 8))
			for p := range 64 {
				v := func() uint8 { return uint8(level + random.IntN(40)) }
				picture.Set(p%8, p/8, color.RGBA{v(), v(), v(), 255})
			}
			path := filepath.Join(dir, fmt.Sprintf("%c", 'a'+class), fmt.Sprintf("%02d.png", i))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(png.Encode(f, picture), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// options of a run of 4 epochs of 5 steps on the Go backend, from the pictures in dir.
func options(t testing.TB, dir, out string) Options {
	t.Helper()
	data, err := dataset.Open("folder:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Train: data, Test: data, Out: out, Backend: "go",
		Sigma: new(0.1), Epochs: 4, BatchSize: 8, LearningRate: 0.05, Augment: cropFlip, Nesterov: true, Seed: 5,
	}
}

func run(t *testing.T, o Options) *modelfile.Card {
	t.Helper()
	card, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

func TestRunLearns(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "net")
	pictures(t, dir)
	o := options(t, dir, out)
	o.Epochs = 12
	var reports []progress.State
	o.Progress = func(s progress.State) { reports = append(reports, s) }
	card := run(t, o)
	if card.Accuracy < 0.9 || card.NoisyTest < 0.8 {
		t.Errorf("accuracy %g, with noise %g on three brightnesses", card.Accuracy, card.NoisyTest)
	}
	if first := reports[0]; first.Rate != 0 || first.Left >= 0 {
		t.Errorf("the report of the first step, which compiles: %+v; want no rate yet", first)
	}
	if last := reports[len(reports)-1]; !last.Final || last.Rate == 0 || last.Done != 480 || last.Total != 480 {
		t.Errorf("last report: %+v", last)
	}
	if _, err := os.Stat(out + ".checkpoint"); err == nil {
		t.Error("the checkpoint is still there")
	}
	model, err := modelfile.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if model.Card.Weights != card.Weights || model.Card.Train.Images != 42 || model.Card.Train.Digest == "" {
		t.Errorf("card on the disk %+v, returned %+v", model.Card, card)
	}
	log, err := os.ReadFile(out + ".csv")
	if err != nil || strings.Count(string(log), "\n") != 13 || !strings.HasPrefix(string(log), "epoch,images,") {
		t.Errorf("log %q, %v", log, err)
	}

	// Started again, the run is over at once; another one is told what differs.
	o.afterStep = func(int) { t.Error("a finished run took a step") }
	if again := run(t, o); again.Weights != card.Weights {
		t.Error("another card came back")
	}
	o.Sigma, o.Epochs = new(0.2), 5
	_, err = Run(t.Context(), o)
	for _, want := range []string{"recipe.sigma is 0.1 there and 0.2 here", "recipe.epochs is 12 there and 5 here"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// A run that is interrupted at any steps and started again ends with the same weights, on either backend.
func TestResume(t *testing.T) {
	for _, engine := range []string{"go", "xla"} {
		t.Run(engine, func(t *testing.T) {
			if _, err := backend.Open(engine); err != nil {
				t.Skipf("needs the backend %s: %v", engine, err)
			}
			testResume(t, engine)
		})
	}
}

func testResume(t *testing.T, engine string) {
	dir := t.TempDir()
	pictures(t, dir)
	start := func(out string) Options {
		o := options(t, dir, out)
		o.Backend = engine
		return o
	}
	whole := run(t, start(filepath.Join(t.TempDir(), "whole")))

	random := rand.New(rand.NewPCG(3, 4))
	out := filepath.Join(t.TempDir(), "parts")
	for at, stops := 0, 0; ; stops++ {
		o := start(out)
		ctx, cancel := context.WithCancel(t.Context())
		at += 4 + random.IntN(3)
		o.afterStep = func(step int) {
			if step == at {
				cancel()
			}
		}
		card, err := Run(ctx, o)
		cancel()
		if err == nil {
			if stops < 3 {
				t.Errorf("only %d interrupts", stops)
			}
			if card.Weights != whole.Weights || card.Accuracy != whole.Accuracy || card.NoisyTest != whole.NoisyTest || card.Loss != whole.Loss {
				t.Errorf("after %d interrupts %+v\nwithout %+v", stops, card, whole)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "stopped") {
			t.Fatal(err)
		}
	}
}

func TestOtherCheckpoint(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "net")
	pictures(t, dir)
	stopped := func() Options {
		ctx, cancel := context.WithCancel(t.Context())
		o := options(t, dir, out)
		o.afterStep = func(int) { cancel() }
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return options(t, dir, out)
	}
	expect := func(o Options, want string) {
		t.Helper()
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	o := stopped()
	o.Seed = 1<<63 + 1
	expect(o, "net.checkpoint is the checkpoint of another run: recipe.seed is 5 there and 9223372036854775809 here")
	o = options(t, dir, out)
	o.Network = "resnet8"
	expect(o, `architecture.name is "small-cnn" there and "resnet8" here`)
	o = options(t, dir, out)
	o.Train = o.Train.Subset(dataset.MaxIndex(29))
	o.Test = o.Train
	expect(o, "train.images is 42 there and 29 here")

	data := testkit.Read(t, out+".checkpoint")
	testkit.Write(t, data[:len(data)/2], out+".checkpoint")
	expect(options(t, dir, out), "net.checkpoint is damaged: truncated")
	forged := strings.Replace(string(data), `\"Step\":1,`, `\"Step\":9,`, 1)
	testkit.Write(t, []byte(forged), out+".checkpoint")
	expect(options(t, dir, out), "at step 9 of 20, with 0 finished epochs of 5 steps")

	tensors, metadata, err := modelfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	more := append(slices.Clone(tensors), modelfile.Tensor{Name: "weights/none", Shape: []int{1}, Values: []float32{1}})
	for want, broken := range map[string]struct {
		tensors []modelfile.Tensor
		state   map[string]any // what is changed
	}{
		"its state": {tensors, nil}, // without one
		`tensor "weights/none" is of no such run`: {more, map[string]any{}},
		"is missing":             {tensors[1:], map[string]any{}},
		"it has -3 right images": {tensors, map[string]any{"EpochCorrect": -3}},
		"and -1 rounds":          {tensors, map[string]any{"Round": -1}},
		"sums of 2 terms of the loss, and 0 names": {tensors, map[string]any{"EpochTerms": []int{1, 2}}},
		"at step 5 of 20, with 2 finished epochs":  {tensors, map[string]any{"Step": 5, "Log": make([]epoch, 2)}},
		"epoch 1 has 1 terms of the loss, and the run 2 names": {tensors, map[string]any{"Step": 5,
			"Terms": []string{"a", "b"}, "Log": []epoch{{Terms: []float64{1}}}}},
	} {
		state := map[string]any{}
		if err := json.Unmarshal([]byte(metadata[stateKey]), &state); err != nil {
			t.Fatal(err)
		}
		maps.Copy(state, broken.state)
		text := compact(state)
		if broken.state == nil {
			text = ""
		}
		forged, err := modelfile.Encode(broken.tensors, map[string]string{runKey: metadata[runKey], stateKey: text})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, forged, out+".checkpoint")
		expect(options(t, dir, out), want)
	}
}

func FuzzCheckpoint(f *testing.F) {
	p := benchPlan("small-cnn", pixel.Shape{Height: 2, Width: 2, Channels: 1})
	dir := f.TempDir()
	p.checkpoint = filepath.Join(dir, "checkpoint")
	p.options.Out = filepath.Join(dir, "net")
	if err := p.writeCheckpoint(p.newState()); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(p.checkpoint)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), uint8(0), []byte{})
	f.Add(uint16(1000), uint8(255), []byte{})
	f.Fuzz(func(t *testing.T, at uint16, cut uint8, put []byte) {
		data := testkit.Edit(data, at, cut, put)
		s, run, err := decodeCheckpoint(data, p)
		if err == nil && (run == nil || len(s.weights) != len(p.tensors) || len(s.slots[0]) != len(p.tensors)) {
			t.Error("half a state was read without an error")
		}
	})
}

func TestDivergence(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "net")
	pictures(t, dir)
	o := options(t, dir, out)
	o.LearningRate, o.WarmUp = 1e38, 1 // an epoch at 1e37 is enough as well
	_, err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "the loss is") || !strings.Contains(err.Error(), "at step") {
		t.Fatalf("error %v", err)
	}
	if modelfile.Exists(out) {
		t.Error("a model was written")
	}
}

// Where a checkpoint cannot be written the run stops and says so.
func TestNoRoomForCheckpoint(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "net")
	pictures(t, dir)
	o := options(t, dir, out)
	o.Checkpoint = filepath.Join(dir, "a", "00.png", "below-a-file")
	if _, err := Run(t.Context(), o); err == nil {
		t.Error("no error")
	}
}

func TestBadOptions(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "net")
	pictures(t, dir)
	gray := t.TempDir()
	for _, class := range []string{"a", "b", "c"} {
		os.Mkdir(filepath.Join(gray, class), 0o755)
		f, err := os.Create(filepath.Join(gray, class, "x.png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, image.NewGray(image.Rect(0, 0, 9, 9))), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for want, change := range map[string]func(*Options){
		"no data set":                          func(o *Options) { o.Test = nil },
		"no path":                              func(o *Options) { o.Out = "" },
		"no network \"resnet21\"; there are":   func(o *Options) { o.Network = "resnet21" },
		"σ = -0.1":                             func(o *Options) { o.Sigma = new(-0.1) },
		"-1 epochs":                            func(o *Options) { o.Epochs = -1 },
		"batches of 1 images":                  func(o *Options) { o.BatchSize = 1 },
		"batches of 43 images, but":            func(o *Options) { o.BatchSize = 43 },
		"learning rate -1":                     func(o *Options) { o.LearningRate = -1 },
		"momentum 1;":                          func(o *Options) { o.Momentum = new(1.0) },
		"5 epochs of warm-up in a run of 4":    func(o *Options) { o.WarmUp = 5 },
		"unknown schedule \"linear\"":          func(o *Options) { o.Schedule = "linear" },
		"milestones are for":                   func(o *Options) { o.Milestones = []int{1} },
		"milestones [3 2]":                     func(o *Options) { o.Schedule = "step"; o.Milestones = []int{3, 2} },
		"no augmentation \"mixup\"":            func(o *Options) { o.Augment = "mixup" },
		"images of 9×9×1 in 3 classes, but":    func(o *Options) { o.Test, _ = dataset.Open("folder:" + gray) },
		"is for images of 3 channels, not 9×9": func(o *Options) { o.Train, _ = dataset.Open("folder:" + gray); o.Input = "center" },
	} {
		o := options(t, dir, out)
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}
