package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
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

// ibpCases compares training for bounds; intervals with and without rounding outwards; CROWN;
// Auto-PGD, and the area under the ROC curve. Weights are random, and images noise.
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
	// crown compares bounds on all differences of two outputs; auto_LiRPA runs where AUTO_LIRPA names a checkout of it.
	crown := func(net string) comparison {
		entries := []entry{
			{"certspec, rigorous, an image at a time", allPairs(net, feedforward.Rigorous)},
			{"certspec, plain, an image at a time", allPairs(net, feedforward.Plain)},
			{"certspec, rigorous, the pairs that bound the confidence", hostLoop(net, feedforward.CROWN,
				feedforward.Rigorous)},
		}
		if os.Getenv("AUTO_LIRPA") != "" {
			w := work{Task: "crown", Net: net, Batch: attackImages}
			entries = append(entries, entry{fmt.Sprintf("auto_LiRPA in float32, %d images at a time", attackImages),
				pythonWorker(python, scripts, "lirpa", "crown", w, single...)})
		}
		return comparison{net + ", 28×28×1, CROWN with intervals between the layers, all pairs of outputs", 1, entries}
	}
	good := work{Task: "good", Net: "l", Batch: goodImages}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// A training computes on for a step after its turn: two of them in one process would share the bill.
	ours := func(engine string) *worker {
		w := good
		w.Engine = engine
		return &worker{command: []string{self, "worker"}, work: w}
	}
	steps := []entry{
		{"certspec: train.Run", ours(s.backend)},
		{"PyTorch eager, tuned malloc", pythonWorker(python, scripts, "bounds", "eager", good, single...)},
		{"PyTorch eager, channels last, tuned malloc", pythonWorker(python, scripts, "bounds", "channels-last", good,
			single...)},
		{"torch.compile", pythonWorker(python, scripts, "bounds", "compile", good, single...)},
		{"JAX jit", pythonWorker(python, scripts, "bounds", "jax", good)},
	}
	references := 1
	if s.backend == "" {
		references = 2
		steps = slices.Insert(steps, 1, entry{"certspec: train.Run, Winograd's kernels", ours(winograd)})
	}
	apgd := work{Task: "apgd", Net: "small-cnn", Batch: attackImages}
	return []comparison{
		{fmt.Sprintf("training by GOOD 80, l, 28×28×1, %d labelled images and %[1]d out-images in a step", goodImages),
			references, steps},
		{"small-cnn, 28×28×1, float64 on the host, an image at a time", 1, []entry{
			{"intervals, plain", hostLoop("small-cnn", feedforward.IBP, feedforward.Plain)},
			{"intervals, rigorous", hostLoop("small-cnn", feedforward.IBP, feedforward.Rigorous)},
		}},
		crown("small-cnn"), crown("l"),
		{fmt.Sprintf("Auto-PGD, %d steps on small-cnn, 28×28×1, %d images at a time", attackSteps, attackImages), 1,
			[]entry{
				{"certspec: ood.Attack in float64", attackLoop()},
				{"PyTorch eager in float64", pythonWorker(python, scripts, "bounds", "float64", apgd, single...)},
				{"PyTorch eager in float32", pythonWorker(python, scripts, "bounds", "eager", apgd, single...)},
			}},
		{fmt.Sprintf("areas under the ROC curve of %d and %d scores, one thread", ownScores, foreign), 1, []entry{
			{"certspec: ood.Area", areaLoop()},
			{"scikit-learn: roc_auc_score", pythonWorker(statistics, scripts, "bounds", "sklearn",
				work{Task: "auc", Net: "-", Batch: 1}, oneThread...)},
		}},
	}, nil
}

// goodRun is a training by GOOD.
func goodRun(backend string) (*training, error) {
	m, err := method.New("good", "quantile=80", "kappa=0.3", "kappa_over=0", "epsilon=0.1", "epsilon_over=0")
	return &training{net: "l", data: "fashionmnist", out: "noise:uniform,28x28x1", method: m, backend: backend,
		batch: goodImages, rows: 1}, err
}

// hostNetwork is a network as layers.
func hostNetwork(net string) (*feedforward.Network, error) {
	data, err := export.Encode(untrained(nets.Architecture{Name: net, Shape: shape28, Classes: 10}))
	if err != nil {
		return nil, err
	}
	return onnx.FeedForwardBytes(net, data, onnx.Options{})
}

// ballLoop bounds over the ball around an image.
func ballLoop(net string, a feedforward.Arithmetic, bound func(ctx context.Context, n *feedforward.Network, x []float64,
	box feedforward.Box) error) contender {
	return &loop{prepare: func(ctx context.Context) (func() (float64, error), error) {
		n, err := hostNetwork(net)
		if err != nil {
			return nil, err
		}
		x := unit(noiseBytes(1))
		return func() (float64, error) {
			box, err := feedforward.Ball(x, boundEpsilon, a)
			if err != nil {
				return 0, err
			}
			return 1, bound(ctx, n, x, box)
		}, nil
	}}
}

func allPairs(net string, a feedforward.Arithmetic) contender {
	return ballLoop(net, a, func(ctx context.Context, n *feedforward.Network, _ []float64, box feedforward.Box) error {
		_, err := n.Differences(ctx, box, feedforward.CROWN, a)
		return err
	})
}

func hostLoop(net string, method feedforward.Method, a feedforward.Arithmetic) contender {
	return ballLoop(net, a, func(ctx context.Context, n *feedforward.Network, x []float64, box feedforward.Box) error {
		_, err := n.Confidence(ctx, x, box, method, a)
		return err
	})
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
		n, err := hostNetwork("small-cnn")
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
