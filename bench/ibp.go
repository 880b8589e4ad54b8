package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/pixel"
)

const (
	boundEpsilon = 0.1
	goodImages   = 128
	attackImages = 16
	attackSteps  = 20
	ownScores    = 10000 // of an AUC
	foreign      = 26032
	winograd     = backend.XLA + ":cpu,kernels=winograd"
)

var shape28 = pixel.Shape{Height: 28, Width: 28, Channels: 1}

// ibpCases compares bounds on the confidence: intervals in float32, in float64 with and without rounding outwards, CROWN; Auto-PGD, and the area
// under the ROC curve. Weights are random, and images noise.
func ibpCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	statistics, _, err := pythonOf(ctx, pyenv.External)
	if err != nil {
		return nil, err
	}
	single := append(slices.Clip(oneThread), largeHeap...)
	// auto_LiRPA runs where AUTO_LIRPA names a checkout of it.
	withLirpa := func(form, title string, w work, entries ...entry) []entry {
		if os.Getenv("AUTO_LIRPA") == "" {
			return entries
		}
		return append(entries, entry{title, pythonWorker(python, scripts, "lirpa", form, w, single...)})
	}
	var cases []comparison
	for _, net := range s.nets {
		for _, n := range s.batches {
			w := work{Task: "ibp", Net: net, Batch: n}
			entries := []entry{
				{"certspec on XLA", boundLoop(net, s.backend, n)},
				{"certspec: the bounds as an ONNX graph, on ONNX Runtime", graphBounds(net, n)},
				{"PyTorch eager, tuned malloc", pythonWorker(python, scripts, "bounds", "eager", w, single...)},
				{"PyTorch eager, channels last, tuned malloc", pythonWorker(python, scripts, "bounds", "channels-last", w, single...)},
				{"torch.compile", pythonWorker(python, scripts, "bounds", "compile", w, single...)},
				{"JAX jit", pythonWorker(python, scripts, "bounds", "jax", w)},
			}
			references := 1
			if net == nets.Large && s.backend == "" { // whose convolutions are of the kind that Winograd's kernels take
				references = 2
				entries = slices.Insert(entries, 1, entry{"certspec on XLA, Winograd's kernels", boundLoop(net, winograd, n)})
			}
			entries = withLirpa("ibp", "auto_LiRPA, IBP", w, entries...)
			cases = append(cases, comparison{fmt.Sprintf("%s, 28×28×1, float32, intervals without rounding, %d images at a time", net, n), references, entries})
		}
	}
	good := work{Task: "good", Net: nets.Large, Batch: goodImages}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ours := func(engine string) *worker { // a training computes on for a step after its turn: two of them in one process would share the bill
		w := good
		w.Engine = engine
		return &worker{command: []string{self, "worker"}, work: w}
	}
	steps := []entry{
		{"certspec: train.Run", ours(s.backend)},
		{"PyTorch eager, tuned malloc", pythonWorker(python, scripts, "bounds", "eager", good, single...)},
		{"PyTorch eager, channels last, tuned malloc", pythonWorker(python, scripts, "bounds", "channels-last", good, single...)},
		{"torch.compile", pythonWorker(python, scripts, "bounds", "compile", good, single...)},
		{"JAX jit", pythonWorker(python, scripts, "bounds", "jax", good)},
	}
	references := 1
	if s.backend == "" {
		references = 2
		steps = slices.Insert(steps, 1, entry{"certspec: train.Run, Winograd's kernels", ours(winograd)})
	}
	apgd := work{Task: "apgd", Net: nets.SmallCNN, Batch: attackImages}
	return append(cases,
		comparison{fmt.Sprintf("training by GOOD 80, l, 28×28×1, %d labelled images and %[1]d out-images in a step", goodImages), references, steps},
		comparison{"small-cnn, 28×28×1, float64 on the host, an image at a time", 1, []entry{
			{"intervals, plain", hostLoop(feedforward.IBP, feedforward.Plain)},
			{"intervals, rigorous", hostLoop(feedforward.IBP, feedforward.Rigorous)},
		}},
		comparison{"small-cnn, 28×28×1, CROWN with intervals between the layers", 1, withLirpa("crown", "auto_LiRPA in float32, 16 images at a time",
			work{Task: "crown", Net: nets.SmallCNN, Batch: attackImages},
			entry{"certspec in float64, plain, an image at a time", hostLoop(feedforward.CROWN, feedforward.Plain)},
			entry{"certspec in float64, rigorous, an image at a time", hostLoop(feedforward.CROWN, feedforward.Rigorous)},
		)},
		comparison{fmt.Sprintf("Auto-PGD, %d steps on small-cnn, 28×28×1, %d images at a time", attackSteps, attackImages), 1, []entry{
			{"certspec: ood.Attack in float64", attackLoop()},
			{"PyTorch eager in float64", pythonWorker(python, scripts, "bounds", "float64", apgd, single...)},
			{"PyTorch eager in float32", pythonWorker(python, scripts, "bounds", "eager", apgd, single...)},
		}},
		comparison{fmt.Sprintf("areas under the ROC curve of %d and %d scores, one thread", ownScores, foreign), 1, []entry{
			{"certspec: ood.Area", areaLoop()},
			{"scikit-learn: roc_auc_score", pythonWorker(statistics, scripts, "bounds", "sklearn", work{Task: "auc", Net: "-", Batch: 1}, oneThread...)},
		}},
	), nil
}

// goodRun is a training by GOOD.
func goodRun(backend string) (*training, error) {
	m, err := method.New("good", "quantile=80", "kappa=0.3", "kappa_over=0", "epsilon=0.1", "epsilon_over=0")
	return &training{net: nets.Large, data: "fashionmnist", out: "noise:uniform,28x28x1", method: m, backend: backend, batch: goodImages, rows: 1}, err
}

func noiseImages(n int) []float32 {
	images := make([]float32, n*shape28.Len())
	for i := range images {
		images[i] = float32(rand.IntN(256)) / 255
	}
	return images
}

func boundLoop(net, engine string, n int) contender {
	l := &loop{}
	l.prepare = func(ctx context.Context) (func() (float64, error), error) {
		b, err := backend.Open(engine)
		if err != nil {
			return nil, err
		}
		l.version = b.Engine + " " + b.Version
		bounds, err := infer.LoadBounds(b, net, untrained(nets.Architecture{Name: net, Shape: shape28, Classes: 10}), boundEpsilon)
		if err != nil {
			return nil, err
		}
		images := noiseImages(n)
		return func() (float64, error) {
			_, err := bounds.Differences(ctx, images)
			return float64(n), err
		}, nil
	}
	return l
}

// hostNetwork is the small CNN as layers in float64.
func hostNetwork() (*feedforward.Network, error) {
	data, err := export.Encode(untrained(nets.Architecture{Name: nets.SmallCNN, Shape: shape28, Classes: 10}))
	if err != nil {
		return nil, err
	}
	return onnx.FeedForwardBytes(nets.SmallCNN, data, onnx.Options{})
}

func hostLoop(method feedforward.Method, a feedforward.Arithmetic) contender {
	return &loop{prepare: func(ctx context.Context) (func() (float64, error), error) {
		n, err := hostNetwork()
		if err != nil {
			return nil, err
		}
		x := unit(noiseBytes(1))
		return func() (float64, error) {
			box, err := feedforward.Ball(x, boundEpsilon, a)
			if err != nil {
				return 0, err
			}
			_, err = n.Confidence(ctx, x, box, method, a)
			return 1, err
		}, nil
	}}
}

func noiseBytes(n int) []uint8 {
	images := make([]uint8, n*shape28.Len())
	for i := range images {
		images[i] = uint8(rand.Uint32())
	}
	return images
}

type noiseSource struct{ *imageset.Images }

func (s noiseSource) Load(context.Context) (*imageset.Images, error) { return s.Images, nil }

func attackLoop() contender {
	return &loop{prepare: func(ctx context.Context) (func() (float64, error), error) {
		n, err := hostNetwork()
		if err != nil {
			return nil, err
		}
		images := &imageset.Images{Name: "noise", Shape: shape28, Pixels: noiseBytes(attackImages)}
		for i := range attackImages {
			images.IDs, images.Labels = append(images.IDs, i), append(images.Labels, -1)
		}
		images.Digest = images.ContentDigest()
		o := ood.AttackOptions{Epsilon: boundEpsilon, Attacks: []string{"apgd"}, Steps: attackSteps, Restarts: 1}
		return func() (float64, error) {
			_, err := ood.Attack(ctx, n, noiseSource{images}, o)
			return attackImages, err
		}, nil
	}}
}

func areaLoop() contender {
	return &loop{prepare: func(context.Context) (func() (float64, error), error) {
		own, other := make([]float64, ownScores), make([]float64, foreign)
		for i := range own {
			own[i] = rand.NormFloat64() + 1
		}
		for i := range other {
			other[i] = rand.NormFloat64()
		}
		return func() (float64, error) {
			_, err := ood.Area(own, other)
			return 1, err
		}, nil
	}}
}

// graphBounds are the bounds as an ONNX graph on ONNX Runtime, whose outputs are U.
func graphBounds(net string, n int) contender {
	return &loop{prepare: func(ctx context.Context) (func() (float64, error), error) {
		dir, err := os.MkdirTemp("", "certspec-bench-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "bounds.onnx")
		if err := writeBounds(file, untrained(nets.Architecture{Name: net, Shape: shape28, Classes: 10})); err != nil {
			return nil, err
		}
		return classifyLoop(ctx, file, n)
	}}
}
