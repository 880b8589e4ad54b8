package perturb

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
)

// Gradients gives, at each point, the probability of a class and its gradient by the point. A point is
// an image, channels last, where white is 1.
type Gradients interface {
	ConfidenceGradients(ctx context.Context, points [][]float64, classes []int32) (
		confidences []float64, gradients [][]float64, err error)
}

// EmpiricalBy is Empirical with gradients from elsewhere, of a network that answers itself as smoothed.
// Of a feedforward.Network they come in float64 from the host: slower by orders of magnitude.
func EmpiricalBy(ctx context.Context, g Gradients, smoothed classifier.Classifier, images *imageset.Index,
	o EmpiricalOptions) ([]Outcome, error) {
	info, err := smoothed.Info()
	if err != nil {
		return nil, err
	}
	if o, err = o.ready(images, info.Shape, info.Classes); err != nil {
		return nil, err
	}
	return o.attack(ctx, gradientDescent{g}, 1, smoothed, images)
}

// gradientDescent is the same attack by gradients alone.
type gradientDescent struct{ Gradients }

func (l gradientDescent) gamma(ctx context.Context, g *group, o EmpiricalOptions, radius float64) ([]float32, error) {
	images, size := len(g.pixels), len(g.x)/len(g.pixels)
	gamma := make([]float64, len(g.x))
	points, labels := make([][]float64, o.Noises*images), make([]int32, o.Noises*images)
	for i := range points {
		points[i], labels[i] = make([]float64, size), g.labels[i%images]
	}
	length := o.Rate * 2 * radius / float64(o.Steps)
	for step := range o.Steps {
		for i, z := range points {
			at := i % images * size
			for j := range z {
				z[j] = float64(g.x[at+j]) + gamma[at+j] + float64(g.delta[i*size+j])
			}
		}
		confidence, gradients, err := l.ConfidenceGradients(ctx, points, labels)
		if err != nil {
			return nil, err
		}
		for k := range images {
			direction, mean := make([]float64, size), 0.0
			for i := k; i < len(points); i += images {
				mean += confidence[i]
				for j, v := range gradients[i] {
					direction[j] += v
				}
			}
			if mean-mean != 0 {
				return nil, &NotFiniteError{Step: step, Image: k}
			}
			if slices.Max(direction) == 0 && slices.Min(direction) == 0 {
				for j := range direction {
					direction[j] = float64(g.delta[k*size+j])
				}
			}
			descend(gamma[k*size:(k+1)*size], g.x[k*size:(k+1)*size], direction, length, radius)
		}
	}
	found := make([]float32, len(gamma))
	for i, v := range gamma {
		found[i] = float32(v)
	}
	return found, nil
}

// descend moves γ against a direction by a step of a length, keeps x + γ in its range, and shortens γ to the radius.
func descend(gamma []float64, x []float32, direction []float64, length, radius float64) {
	norm := func(v []float64) float64 { return floats.Norm(v, 2) }
	if n := norm(direction); n > 0 {
		length /= n
	} else {
		length = 0
	}
	for j, v := range direction {
		at := float64(x[j])
		gamma[j] = min(max(at+gamma[j]-length*v, min(at, 0)), max(at, 1)) - at
	}
	if n := norm(gamma); n > radius {
		floats.Scale(radius/n, gamma)
	}
}
