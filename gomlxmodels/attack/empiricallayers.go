package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/pixel"
)

// EmpiricalOfLayers is Empirical of a network as layers, in float64 on the host: slower by orders of magnitude.
func EmpiricalOfLayers(ctx context.Context, n *feedforward.Network, smoothed classifier.Classifier, images *dataset.Images,
	o EmpiricalOptions) ([]Outcome, error) {
	in := n.InputShape()
	if len(in) != 3 {
		return nil, fmt.Errorf("attack: a network that takes %v; expected height, width and channels of an image", in)
	}
	o, err := o.ready(images, pixel.Shape{Height: in[0], Width: in[1], Channels: in[2]}, n.Outputs())
	if err != nil {
		return nil, err
	}
	return o.attack(ctx, layersDescent{n}, 1, smoothed, images)
}

// layersDescent is the same attack on layers.
type layersDescent struct{ *feedforward.Network }

func (l layersDescent) gamma(ctx context.Context, g *group, o EmpiricalOptions, radius float64) ([]float32, error) {
	images, size := len(g.pixels), len(g.x)/len(g.pixels)
	gamma := make([]float64, len(g.x))
	points := make([][]float64, o.Noises*images)
	for i := range points {
		points[i] = make([]float64, size)
	}
	length := o.Rate * 2 * radius / float64(o.Steps)
	for step := range o.Steps {
		for i, z := range points {
			at := i % images * size
			for j := range z {
				z[j] = float64(g.x[at+j]) + gamma[at+j] + float64(g.delta[i*size+j])
			}
		}
		confidence := make([]float64, len(points))
		_, gradients, err := l.VectorJacobians(ctx, points, func(i int, logits []float64) (v []float64) {
			confidence[i], v = softmaxGradient(logits, int(g.labels[i%images]))
			return v
		})
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

// softmaxGradient is the probability of a class, and its gradient by the logits.
func softmaxGradient(logits []float64, class int) (p float64, gradient []float64) {
	most, sum := slices.Max(logits), 0.0
	gradient = make([]float64, len(logits))
	for k, v := range logits {
		gradient[k] = math.Exp(v - most)
		sum += gradient[k]
	}
	p = gradient[class] / sum
	for k := range gradient {
		gradient[k] *= -p / sum
	}
	gradient[class] += p
	return p, gradient
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
