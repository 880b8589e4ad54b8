package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/openvino"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// sigma is the deviation of the noise; python/worker.py has the same.
const sigma = 0.25

// certifyCases compares noise samples per second, per net and batch size. All nets have random
// weights, which cost what trained ones cost.
func certifyCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	var cases []comparison
	for _, name := range s.nets {
		arch, err := architecture(name)
		if err != nil {
			return nil, err
		}
		for _, batch := range s.batches {
			c := comparison{title: fmt.Sprintf("%s, batch %d", name, batch)}
			for _, work := range []struct {
				name string
				run  func(ctx context.Context, model classifier.Classifier, batch int) error
			}{
				{"certspec: rs.Certify with noise and ledger", certifyForEver},
				{"certspec: the model alone, no noise", classifyForEver},
			} {
				for _, on := range certifyEngines(s.backend) {
					c.entries = append(c.entries, entry{work.name + ", " + on, &gated{
						open: func() (classifier.Classifier, func(), error) { return randomNet(ctx, arch, on) },
						work: func(ctx context.Context, model classifier.Classifier) error {
							return work.run(ctx, model, batch)
						},
					}})
				}
			}
			c.references = len(certifyEngines(s.backend))
			const eightBit = ", 8-bit integers"
			for _, on := range []string{engine.ONNXRuntime + eightBit, engine.OpenVINO,
				engine.OpenVINO + ",precision=bf16", engine.OpenVINO + eightBit} {
				choice, integers := strings.CutSuffix(on, eightBit)
				open := randomNet
				if integers {
					open = integerNet
				}
				c.entries = append(c.entries, entry{"certspec: rs.Certify with noise and ledger, " + on, &gated{
					open: func() (classifier.Classifier, func(), error) { return open(ctx, arch, choice) },
					work: func(ctx context.Context, model classifier.Classifier) error {
						return certifyForEver(ctx, model, batch)
					},
				}})
			}
			c.entries = append(c.entries, integerEntries(arch, batch, certifyForEver, classifyForEver)...)
			w := work{Task: "certify", Net: name, Batch: batch}
			c.entries = append(c.entries, pythonEntries(python, scripts, w)...)
			c.entries = append(c.entries, entry{"torch.compile, frozen, tuned malloc", pythonWorker(python, scripts,
				"torch", "frozen", w, largeHeap...)})
			c.entries = append(c.entries, entry{"JAX jit, bfloat16", pythonWorker(python, scripts, "jax", "bfloat16",
				w)})
			if s.processor { // threads that wait for each other take processor time too
				c.entries = append(c.entries, entry{"torch.compile, frozen, tuned malloc, one thread",
					pythonWorker(python, scripts, "torch", "frozen", w, append(largeHeap, "OMP_NUM_THREADS=1")...)})
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// certifyEngines are the engines of certspec that are compared: of a model file, or by the layers of an ONNX file.
func certifyEngines(choice string) []string {
	if choice != "" {
		return []string{choice, onnxFile + choice, engine.ONNXRuntime}
	}
	const winograd = backend.XLA + ":cpu,kernels=winograd"
	return []string{backend.XLA, winograd, onnxFile + winograd, engine.ONNXRuntime}
}

// onnxFile stands before the engine of an ONNX file.
const onnxFile = "ONNX file on "

// architecture of a net of the benchmarks: 28×28×1 for the small one, 32×32×3 for the others.
func architecture(name string) (nets.Architecture, error) {
	a := nets.Architecture{Name: name, Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10}
	if name == "small-cnn" {
		a.Shape = pixel.Shape{Height: 28, Width: 28, Channels: 1}
	}
	return a, a.Check()
}

// randomNet opens a net with random weights on an engine, whose library it fetches where it is
// missing, and returns what closes it.
func randomNet(ctx context.Context, a nets.Architecture, choice string) (classifier.Classifier, func(), error) {
	if err := needEngine(ctx, choice); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	path, err := writeRandom(dir, a)
	if err != nil {
		return nil, nil, err
	}
	choice, exported := strings.CutPrefix(choice, onnxFile)
	if exported {
		m, err := modelfile.Read(path)
		if err != nil {
			return nil, nil, err
		}
		path += ".onnx"
		if err := engine.Export(m, path); err != nil {
			return nil, nil, err
		}
	}
	model, err := engine.Open(path, engine.Backend(choice))
	if err != nil {
		return nil, nil, err
	}
	if _, err := model.Warnings(); err != nil { // it reads the weights
		return nil, nil, err
	}
	return model, func() { model.Close() }, nil
}

// writeRandom writes a model file with random weights into a folder.
func writeRandom(dir string, a nets.Architecture) (path string, err error) {
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a, Classes: make([]string, a.Classes)}}
	for _, t := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: t.Initialize(1)})
	}
	path = filepath.Join(dir, a.Name)
	return path, modelfile.Write(path, m)
}

// integerNet is randomNet in 8-bit integers, as by certspec quantize.
func integerNet(ctx context.Context, a nets.Architecture, choice string) (classifier.Classifier, func(), error) {
	if err := errors.Join(needLibrary(ctx), needEngine(ctx, choice)); err != nil { // quantize needs the first
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	path, err := writeRandom(dir, a)
	if err != nil {
		return nil, nil, err
	}
	float, err := engine.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer float.Close()
	images, err := randomImages(a.Shape).Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	quantized := filepath.Join(dir, a.Name+".onnx")
	if err := float.Quantize(ctx, images.Take([]int{0, 1, 2, 3, 4, 5, 6, 7}), sigma, 1, quantized); err != nil {
		return nil, nil, err
	}
	model, err := engine.Open(quantized, engine.Backend(choice))
	if err != nil {
		return nil, nil, err
	}
	if _, err := model.Warnings(); err != nil { // it reads the file
		return nil, nil, err
	}
	return model, func() { model.Close() }, nil
}

// needEngine fetches ONNX Runtime or OpenVINO where one is chosen and missing.
func needEngine(ctx context.Context, choice string) error {
	if strings.HasPrefix(choice, engine.OpenVINO) {
		_, err := openvino.Install(ctx, progress.Messages(say))
		return err
	}
	if choice == engine.ONNXRuntime {
		return needLibrary(ctx)
	}
	return nil
}

// needLibrary fetches ONNX Runtime where it is missing.
func needLibrary(ctx context.Context) error {
	if _, err := onnx.Library(""); !errors.Is(err, onnx.ErrNoLibrary) {
		return err
	}
	_, err := onnx.Install(ctx, progress.Messages(say))
	return err
}

// certifyForEver is the whole pipeline: noise, model, counts, bounds, ledger, for more images than there is time.
func certifyForEver(ctx context.Context, model classifier.Classifier, batch int) error {
	info, err := model.Info()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "certspec-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_, err = rs.Certify(ctx, model, randomImages(info.Shape), rs.Options{
		Sigma: sigma, Rule: rs.Fixed, Block: batch, MaxSamples: 10_000 / batch * batch,
		Ledger: filepath.Join(dir, "ledger"),
	})
	return errors.Join(err, errors.New("all images are certified"))
}

// classifyForEver calls the model on one batch of samples drawn beforehand, with as many callers as
// keep all processors busy.
func classifyForEver(ctx context.Context, model classifier.Classifier, batch int) error {
	info, err := model.Info()
	if err != nil {
		return err
	}
	grid, err := noise.NewGrid(sigma)
	if err != nil {
		return err
	}
	base, samples := make([]int16, info.Shape.Len()), make([]int16, batch*info.Shape.Len())
	if _, err := grid.AddTo(samples, base, noise.Address{Seed: 1}, 0, nil); err != nil {
		return err
	}
	callers := max(2, runtime.GOMAXPROCS(0)/max(1, info.Identity.Threads))
	ended := make(chan error, callers)
	for range callers {
		go func() {
			result := classifier.Result{Classes: make([]int32, batch)}
			for {
				if err := model.Classify(ctx, classifier.Batch{N: batch, Grid: samples}, &result); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for range callers {
		err = errors.Join(err, <-ended)
	}
	return err
}

// randomImages are 1,000 images of random pixels.
type randomImages pixel.Shape

func (r randomImages) Load(context.Context) (*dataset.Images, error) {
	const n = 1000
	shape := pixel.Shape(r)
	images := &dataset.Images{
		Name: "random", Shape: shape, Classes: make([]string, 10),
		IDs: make([]int, n), Labels: make([]int, n), Pixels: make([]uint8, n*shape.Len()), Digest: "random",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range images.Pixels {
		images.Pixels[i] = uint8(random.Uint32())
	}
	for i := range images.IDs {
		images.IDs[i], images.Labels[i] = i, i%10
	}
	return images, nil
}
