// Package adapt adapts a trained network to images that look unlike those it was trained on,
// without their labels, before it is frozen again and certified: by new statistics of batch
// normalisation (Schneider et al. 2020, arXiv 2006.16971), and by TENT (Wang et al. 2021, arXiv
// 2006.10726), which lowers the entropy of the predictions.
//
// Both see noisy images, as randomized smoothing does. An adapted network is a fixed function of
// its input, unlike the online form of TENT, whose answers depend on the batch: what is certified
// of it holds.
package adapt

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
)

// Ways to adapt.
const (
	BN   = "bn"   // running averages of batch normalisation move towards the images; no weight is trained
	TENT = "tent" // and its scales and shifts lower the mean entropy of the predictions, by SGD
)

// Options of Run. The zero value of a field is its default.
type Options struct {
	Method    string  // BN or TENT
	Sigma     float64 // standard deviation of the noise, drawn once for each image
	Images    int     // drawn from the data without replacement; default 500, at most all
	Steps     int     // batches; default 10
	BatchSize int     // images in a step, drawn anew from those images without replacement; default 128
	Rate      float64 // of TENT; default 1e-3
	Momentum  float64 // of TENT; default 0.9; negative for none
	Seed      uint64
	Backend   string // as backend.Open takes it
}

// Check says what is wrong with options, as far as that shows without images.
func (o Options) Check() error {
	_, err := o.withDefaults(math.MaxInt)
	return err
}

// withDefaults fills in what is left out, for so many images, and checks the values.
func (o Options) withDefaults(available int) (Options, error) {
	orDefault := func(v *int, standard int) {
		if *v == 0 {
			*v = standard
		}
	}
	orDefault(&o.Images, min(500, available))
	orDefault(&o.Steps, 10)
	orDefault(&o.BatchSize, min(128, o.Images))
	o.Rate = cmp.Or(o.Rate, 1e-3)
	o.Momentum = cmp.Or(o.Momentum, 0.9)
	o.Momentum = max(o.Momentum, 0)
	switch {
	case o.Method != BN && o.Method != TENT:
		return o, fmt.Errorf("adapt: no method %q; there are %s and %s", o.Method, BN, TENT)
	case !(o.Sigma >= 0) || math.IsInf(o.Sigma, 0):
		return o, fmt.Errorf("adapt: σ = %v; expected 0 or more", o.Sigma)
	case o.Images < 1:
		return o, fmt.Errorf("adapt: %d images; expected at least 1", o.Images)
	case o.Images > available:
		return o, fmt.Errorf("adapt: %d images of %d", o.Images, available)
	case o.Steps < 1:
		return o, fmt.Errorf("adapt: %d steps; expected at least 1", o.Steps)
	case o.BatchSize < 2 || o.BatchSize > o.Images:
		return o, fmt.Errorf("adapt: batches of %d of %d images; expected 2 to all", o.BatchSize, o.Images)
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0):
		return o, fmt.Errorf("adapt: rate %v; expected more than 0", o.Rate)
	case !(o.Momentum < 1):
		return o, fmt.Errorf("adapt: momentum %v; expected less than 1", o.Momentum)
	}
	return o, nil
}

// Run returns the weights of a model adapted to images; the model stays as it is. Labels are not used.
//
// Errors: options out of range; images of another shape; a network without batch normalisation; a loss or statistics
// that are not finite.
func Run(ctx context.Context, m *modelfile.Model, images *imageset.Index, o Options) (*modelfile.Model, error) {
	o, err := o.withDefaults(images.Len())
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, images.Name)
	}
	a := m.Card.Architecture
	if images.Shape != a.Shape {
		return nil, fmt.Errorf("adapt: %s has images of %v; the network takes %v", images.Name, images.Shape, a.Shape)
	}
	list := a.Tensors()
	if !slices.ContainsFunc(list, func(t nets.Tensor) bool { return t.Running }) {
		return nil, fmt.Errorf("adapt: a %s has no batch normalisation, which %s needs", a.Name, o.Method)
	}
	b, err := backend.OpenForTraining(o.Backend)
	if err != nil {
		return nil, err
	}
	s, err := newStep(b, a, list, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	random := rand.New(rand.NewPCG(o.Seed, 0))
	noisy, err := draw(ctx, images, o, random)
	if err != nil {
		return nil, err
	}
	size := images.Shape.Len()
	for step := range o.Steps {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("adapt: stopped at step %d of %d: %w", step, o.Steps, context.Cause(ctx))
		}
		batch := make([]float32, 0, o.BatchSize*size)
		for _, i := range random.Perm(o.Images)[:o.BatchSize] {
			batch = append(batch, noisy[i*size:(i+1)*size]...)
		}
		entropy, err := s.take(tensors.FromFlatDataAndDimensions(batch, o.BatchSize, a.Shape.Height, a.Shape.Width,
			a.Shape.Channels), m.Weights)
		if err != nil {
			return nil, err
		}
		if entropy-entropy != 0 {
			return nil, fmt.Errorf("adapt: the mean entropy is %v at step %d of %d", entropy, step+1, o.Steps)
		}
	}
	adapted := &modelfile.Model{Card: m.Card}
	adapted.Card.Adaptation = &modelfile.Adaptation{
		Method: o.Method, From: m.Card.Weights, Data: modelfile.Data{Name: images.Name, Images: images.Len(),
			Digest: images.Digest},
		Sigma: o.Sigma, Images: o.Images, Steps: o.Steps, BatchSize: o.BatchSize, Seed: o.Seed,
	}
	if o.Method == TENT {
		adapted.Card.Adaptation.Rate, adapted.Card.Adaptation.Momentum = o.Rate, o.Momentum
	}
	for i, t := range list {
		values, err := tensors.CopyFlatData[float32](s.weights[i])
		if err != nil {
			return nil, fmt.Errorf("adapt: %w", err)
		}
		adapted.Weights = append(adapted.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: values})
	}
	if n := adapted.NotFinite(); n > 0 {
		return nil, fmt.Errorf("adapt: %d weights are no longer finite", n)
	}
	return adapted, nil
}

// draw picks the images and adds their noise.
func draw(ctx context.Context, images *imageset.Index, o Options, random *rand.Rand) (noisy []float32, err error) {
	for _, i := range random.Perm(images.Len())[:o.Images] {
		one, err := images.Read(ctx, i)
		if err != nil {
			return nil, err
		}
		for _, v := range one.Pixels {
			noisy = append(noisy, float32(v)/255+float32(o.Sigma*random.NormFloat64()))
		}
	}
	return noisy, nil
}

// step is the compiled step with what it changes.
type step struct {
	exec     *Exec
	list     []nets.Tensor
	weights  []*tensors.Tensor
	momentum []*tensors.Tensor // of the trained ones
}

// affine reports a scale or shift of batch normalisation: a neighbour of a running average.
func affine(list []nets.Tensor, t nets.Tensor) bool {
	layer, last := cutLast(t.Name)
	return (last == "scale" || last == "shift") && slices.ContainsFunc(list, func(other nets.Tensor) bool {
		return other.Running && other.Name == layer+"/mean"
	})
}

func cutLast(name string) (before, after string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

func newStep(b *backend.Backend, a nets.Architecture, list []nets.Tensor, o Options) (*step, error) {
	s := &step{list: list}
	var trained []int
	for i, t := range list {
		if o.Method == TENT && affine(list, t) {
			trained = append(trained, i)
			s.momentum = append(s.momentum, tensors.FromFlatDataAndDimensions(make([]float32, t.Size()), t.Shape...))
		}
	}
	exec, err := NewExec(b.Backend, func(in []*Node) []*Node {
		images, old, velocities := in[0], in[1:1+len(list)], in[1+len(list):]
		logits, averages := netgraph.Network{Architecture: a}.ForwardTraining(images, func(name string) *Node {
			return old[slices.IndexFunc(list, func(t nets.Tensor) bool { return t.Name == name })]
		})
		entropy := loss.Entropy(logits)
		next := slices.Clone(old)
		for i, t := range list {
			if t.Running {
				next[i] = averages[t.Name]
			}
		}
		var moved []*Node
		if len(trained) > 0 {
			var wanted []*Node
			for _, i := range trained {
				wanted = append(wanted, old[i])
			}
			for k, g := range Gradient(entropy, wanted...) {
				v := Add(MulScalar(velocities[k], o.Momentum), g)
				moved = append(moved, v)
				next[trained[k]] = Sub(old[trained[k]], MulScalar(v, o.Rate))
			}
		}
		return append(append([]*Node{entropy}, next...), moved...)
	})
	if err != nil {
		return nil, fmt.Errorf("adapt: %w", err)
	}
	s.exec = exec
	return s, nil
}

// take makes one step and returns the mean entropy before it. The first one starts from the model's weights.
func (s *step) take(images *tensors.Tensor, weights []modelfile.Tensor) (float64, error) {
	if s.weights == nil {
		for i, t := range s.list {
			s.weights = append(s.weights, tensors.FromFlatDataAndDimensions(slices.Clone(weights[i].Values),
				t.Shape...))
		}
	}
	inputs := append(append([]*tensors.Tensor{images}, s.weights...), s.momentum...)
	args := make([]any, len(inputs))
	for i, t := range inputs {
		args[i] = t
	}
	outputs, err := s.exec.Call(args...)
	if err != nil {
		return 0, fmt.Errorf("adapt: %w", err)
	}
	entropy := float64(tensors.ToScalar[float32](outputs[0]))
	for _, t := range append(inputs, outputs[0]) {
		if err := t.FinalizeAll(); err != nil {
			return 0, fmt.Errorf("adapt: %w", err)
		}
	}
	s.weights, s.momentum = outputs[1:1+len(s.list)], outputs[1+len(s.list):]
	return entropy, nil
}

func (s *step) close() {
	for _, t := range append(s.weights, s.momentum...) {
		t.FinalizeAll()
	}
	s.exec.Finalize()
}
