package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

const (
	pathPoints     = 100
	pathPairs      = 4 // in one unit of work
	jacobianImages = 4
)

// pathsCases compares images along Fourier paths, on one core; a network along them with the network alone; and the exact Jacobian.
func pathsCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	other := func(form, task string, env ...string) *worker {
		return pythonWorker(python, scripts, "paths", form, work{Task: task, Net: "resnet20", Batch: pathPairs}, env...)
	}
	images := make([]uint8, 2*pathPairs*shape32.Len())
	for i := range images {
		images[i] = uint8(rand.Uint32())
	}
	onnx := &pathModel{images: images}
	jacobian, backward := other("torch", "jacobian"), other("backward", "jacobian")
	jacobian.work.Batch, backward.work.Batch = jacobianImages, jacobianImages
	return []comparison{
		{"images along amplitude paths, 32×32×3, one thread", 1, []entry{
			{"certspec", &loop{prepare: func(context.Context) (func() (float64, error), error) { return pathWork(images, true) }}},
			{"NumPy, a path at a time", other("numpy", "amplitude", oneThread...)},
		}},
		{"images along phase paths, 32×32×3, one thread", 1, []entry{
			{"certspec", &loop{prepare: func(context.Context) (func() (float64, error), error) { return pathWork(images, false) }}},
			{"NumPy, a path at a time", other("numpy", "phase", oneThread...)},
		}},
		{"images of phase paths through ResNet-20, with HFF and CD", 1, []entry{
			{"certspec: MeasurePaths on ONNX Runtime", &loop{prepare: func(context.Context) (func() (float64, error), error) { return onnx.open((*pathModel).measure) }}},
			{"ONNX Runtime, the model alone, images lying ready", &loop{prepare: func(context.Context) (func() (float64, error), error) { return onnx.open((*pathModel).alone) }}},
			{"PyTorch eager, paths by torch.fft", other("torch", "record")},
		}},
		{"exact Jacobians of ResNet-18, width 1/4, 32×32×3, images", 1, []entry{
			{"certspec on XLA: vector–Jacobian products, a class at a time", &loop{prepare: func(context.Context) (func() (float64, error), error) { return jacobianWork(ctx, s.backend) }}},
			{"PyTorch: torch.func.vmap of jacrev", jacobian},
			{"PyTorch: torch.autograd.grad, a class at a time", backward},
		}},
	}, nil
}

var shape32 = pixel.Shape{Height: 32, Width: 32, Channels: 3}

// pathWork makes all images of the paths of some pairs.
func pathWork(images []uint8, amplitude bool) (func() (float64, error), error) {
	path, err := fourierPath(amplitude)
	if err != nil {
		return nil, err
	}
	size := shape32.Len()
	point := make([]float64, size)
	return func() (float64, error) {
		before := runtime.GOMAXPROCS(1)
		defer runtime.GOMAXPROCS(before)
		for i := range pathPairs {
			n, err := path.Set(unit(images[2*i*size:(2*i+1)*size]), unit(images[(2*i+1)*size:(2*i+2)*size]))
			if err != nil {
				return 0, err
			}
			for j := range n {
				path.Point(point, j)
			}
		}
		return pathPairs * pathPoints, nil
	}, nil
}

func fourierPath(amplitude bool) (spectral.Path, error) {
	o := spectral.FourierOptions{Points: pathPoints, Window: 0.2, Normalization: spectral.CIFAR10}
	if amplitude {
		return spectral.NewAmplitude(shape32, o)
	}
	return spectral.NewPhase(shape32, o)
}

func unit(image []uint8) []float64 {
	out := make([]float64, len(image))
	for i, v := range image {
		out[i] = float64(v) / pixel.Steps
	}
	return out
}

// pathModel is a network on ONNX Runtime that paths go through.
type pathModel struct{ images []uint8 }

func (p *pathModel) open(step func(*pathModel, classifier.Classifier) (func() (float64, error), error)) (func() (float64, error), error) {
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "net.onnx")
	if err := export.ONNX(untrained(nets.Architecture{Name: "resnet20", Shape: shape32, Classes: 10}), file); err != nil {
		return nil, err
	}
	model, err := onnx.Open(file, onnx.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := model.Info(); err != nil { // reads the file
		return nil, err
	}
	return step(p, model)
}

func (p *pathModel) measure(model classifier.Classifier) (func() (float64, error), error) {
	path, err := fourierPath(false)
	if err != nil {
		return nil, err
	}
	size := shape32.Len()
	var pairs []spectral.Pair
	for i := range pathPairs {
		pairs = append(pairs, spectral.Pair{2 * i, 2*i + 1})
	}
	return func() (float64, error) {
		_, err := spectral.MeasurePaths(context.Background(), model, path, func(i int) []uint8 { return p.images[i*size : (i+1)*size] }, pairs, spectral.PathOptions{})
		return pathPairs * pathPoints, err
	}, nil
}

func (p *pathModel) alone(model classifier.Classifier) (func() (float64, error), error) {
	real := make([]float32, pathPoints*shape32.Len())
	for i := range real {
		real[i] = rand.Float32()
	}
	result := classifier.Result{Classes: make([]int32, pathPoints), Scores: make([]float32, pathPoints*10)}
	return func() (float64, error) {
		return pathPoints, model.Classify(context.Background(), classifier.Batch{N: pathPoints, Real: real}, &result)
	}, nil
}

func untrained(a nets.Architecture) *modelfile.Model {
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a, Program: "bench", Classes: make([]string, a.Classes)}}
	for i := range m.Card.Classes {
		m.Card.Classes[i] = string(rune('a' + i))
	}
	for _, t := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: t.Initialize(1)})
	}
	return m
}

func jacobianWork(ctx context.Context, engine string) (func() (float64, error), error) {
	b, err := backend.Open(engine)
	if err != nil {
		return nil, err
	}
	n, err := infer.Load(b, "resnet18", untrained(nets.Architecture{Name: "resnet18", Shape: shape32, Classes: 10, Width: 0.25}))
	if err != nil {
		return nil, err
	}
	images := make([]float32, jacobianImages*shape32.Len())
	for i := range images {
		images[i] = rand.Float32()
	}
	v, gradient := make([]float32, jacobianImages*10), make([]float32, len(images))
	return func() (float64, error) {
		for c := range 10 {
			clear(v)
			for i := range jacobianImages {
				v[10*i+c] = 1
			}
			if err := n.VectorJacobian(ctx, images, v, gradient); err != nil {
				return 0, err
			}
		}
		return jacobianImages, nil
	}, nil
}
