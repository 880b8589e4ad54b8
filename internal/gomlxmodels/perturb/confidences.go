package perturb

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// ConfidencesAt is Confidences of the model file at a path, on an engine as backend.OpenForTraining takes it.
func ConfidencesAt(ctx context.Context, path, engine string, images *dataset.Images, attacks []ace.Attack,
	report progress.Reporter) ([]ace.Predictions, error) {
	m, err := modelfile.Read(path)
	if err != nil {
		return nil, err
	}
	b, err := backend.OpenForTraining(engine)
	if err != nil {
		return nil, err
	}
	return Confidences(ctx, b, m, images, attacks, report)
}

// Confidences asks a network about images as they are, and under each of some attacks on its confidence. The answer
// holds one more Predictions than there are attacks, the first without one. The attacks leave the classes as they are.
// report, which may be nil, is told after each batch how many images are through all attacks.
//
// Errors: no images, images of another shape, a label that is no class, settings of an attack out of range; that of
// ctx.
func Confidences(ctx context.Context, b *backend.Backend, m *modelfile.Model, images *dataset.Images,
	attacks []ace.Attack, report progress.Reporter) ([]ace.Predictions, error) {
	a := m.Card.Architecture
	switch {
	case images.Len() == 0:
		return nil, fmt.Errorf("attack: %s has no images", images.Name)
	case images.Shape != a.Shape:
		return nil, fmt.Errorf("attack: %s has images of %v; the network takes %v", images.Name, images.Shape, a.Shape)
	}
	for i, label := range images.Labels {
		if label < 0 || label >= a.Classes {
			return nil, fmt.Errorf("attack: image %d of %s has the label %d; expected 0 to %d", images.IDs[i],
				images.Name, label, a.Classes-1)
		}
	}
	n := &Network{Backend: b, Forward: netgraph.Network{Architecture: a}.Forward, Tensors: a.Tensors()}
	p, err := NewPlain(n)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	answer, err := n.step(2, func(in []*Node, forward func(*Node) *Node) []*Node {
		return []*Node{forward(Add(in[0], in[1]))}
	})
	if err != nil {
		return nil, err
	}
	defer answer.Finalize()
	var weights []*tensors.Tensor
	for _, w := range m.Weights {
		weights = append(weights, tensors.FromFlatDataAndDimensions(slices.Clone(w.Values), w.Shape...))
	}
	defer release(weights...)

	all, begun := make([]ace.Predictions, 1+len(attacks)), time.Now()
	info := classifier.Info{Shape: a.Shape, Classes: a.Classes}
	size := min(100, images.Len())
	for start := 0; start < images.Len(); start += size {
		values, labels := someOf(images, start, size)
		x := tensors.FromFlatDataAndDimensions(values, size, a.Shape.Height, a.Shape.Width, a.Shape.Channels)
		// take asks about x + γ and keeps the answers.
		take := func(gamma *tensors.Tensor, into *ace.Predictions) ([]int32, error) {
			defer release(gamma)
			outputs, err := call(answer, []*tensors.Tensor{x, gamma}, weights)
			if err != nil {
				return nil, err
			}
			defer release(outputs...)
			logits, err := tensors.CopyFlatData[float32](outputs[0])
			if err != nil {
				return nil, fmt.Errorf("attack: %w", err)
			}
			r := classifier.Result{Classes: make([]int32, size), Scores: make([]float32, size*a.Classes)}
			classifier.Decide(info, classifier.Batch{N: size, Real: values}, logits, &r)
			for k := range min(size, images.Len()-start) {
				confidence := 0.0
				if c := r.Classes[k]; c != classifier.Miss {
					confidence = min(1, float64(r.Scores[k*a.Classes+int(c)]))
				}
				into.Classes, into.Confidence = append(into.Classes, int(r.Classes[k])), append(into.Confidence,
					confidence)
			}
			return r.Classes, nil
		}
		predicted, err := take(tensors.FromShape(x.Shape()), &all[0])
		for k := 0; k < len(attacks) && err == nil; k++ {
			var gamma *tensors.Tensor
			if gamma, err = p.ACE(ctx, attacks[k], x, labels, predicted, weights); err == nil {
				_, err = take(gamma, &all[1+k])
			}
		}
		release(x)
		if err != nil {
			return nil, err
		}
		if report != nil {
			report(through(begun, min(start+size, images.Len()), images.Len()))
		}
	}
	return all, nil
}

// someOf are so many images from one on, 1 = full range, with their labels; behind the last of all it repeats that.
func someOf(images *dataset.Images, start, size int) (values []float32, labels []int32) {
	for k := range size {
		i := min(start+k, images.Len()-1)
		labels = append(labels, int32(images.Labels[i]))
		for _, v := range images.Image(i) {
			values = append(values, float32(v)/pixel.Steps)
		}
	}
	return values, labels
}

// through is the state after so many of all images.
func through(begun time.Time, done, all int) progress.State {
	s := progress.State{Task: "attacks on confidences", Done: float64(done), Total: float64(all), Unit: "images"}
	s.Rate = s.Done / time.Since(begun).Seconds()
	s.Left = time.Duration((s.Total - s.Done) / s.Rate * float64(time.Second))
	return s
}
