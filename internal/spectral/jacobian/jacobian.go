// Package jacobian measures the derivative of a model by its input: its norm, and the frequencies of
// the gradient of the loss.
package jacobian

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/spectral"
)

// Options are the settings of Measure; the zero value is exact.
type Options struct {
	// Projections are random directions of an image. With gradients, 0 means exact, a pass for each class. Else v is
	// uniform on the unit sphere of the logits, with ‖J‖² = C·E‖vᵀJ‖² (Hoffman, Roberts and Yaida 2019). Without
	// gradients they are directions in the space of images; 0 means 32.
	Projections int
	// deviation of each channel by which the model normalises: gradients are with respect to
	// normalised values; nil: 1
	Std      []float64
	Batch    int    // images in one call; 0 means 50
	Seed     uint64 // of the directions
	Progress progress.Reporter
}

// How the Norm was measured.
const (
	Exact       = "exact"
	Projections = "random projections"
	Differences = "central differences, approximate"
)

// Result is the norm of the derivative of a model's logits by its input,
//
//	(1/N Σ_n ‖J(x_n)‖²_F)^½,
//
// the root of the mean square of Frobenius norms over images (Fridovich-Keil et al. 2022). It is with respect to
// normalised values if Std is set.
type Result struct {
	Norm float64 `json:"norm"`
	// 95 %, roots of mean ± 1.96 s/√N of the squares: over images and, where there are such,
	// directions
	Interval    []float64 `json:"interval"`
	Images      int       `json:"images"`
	Mode        string    `json:"mode"`
	Projections int       `json:"projections,omitempty"`
	Missed      int       `json:"missed,omitempty"` // images with a value that is not finite; they do not count
}

// Measure measures the Jacobian norm at the images. Without gradients (nil) it takes central differences along
// random directions of image space: ‖J‖² ≈ D·E‖(f(x+hu) − f(x−hu))/2h‖². Here u is uniform on the unit sphere of D
// normalised values, and h = 1/255. That is approximate, since it sees the network at a distance of h.
//
// Errors: a model without logits; options out of range, as *spectral.InputError; those of the model;
// no image with finite values.
func Measure(ctx context.Context, model classifier.Classifier, gradients classifier.Differentiable,
	images *dataset.Images, o Options) (*Result, error) {
	info, err := model.Info()
	if err != nil {
		return nil, err
	}
	if err := o.check(info, images, gradients != nil); err != nil {
		return nil, err
	}
	j := jacobian{Options: o, ctx: ctx, model: model, gradients: gradients, info: info, images: images}
	out := &Result{Mode: Exact, Projections: j.Projections}
	switch {
	case gradients == nil:
		out.Mode = Differences
		if j.Projections == 0 {
			j.Projections, out.Projections = 32, 32
		}
	case o.Projections > 0:
		out.Mode = Projections
	}
	j.Batch = cmp.Or(j.Batch, 50)
	var squares []float64
	for start := 0; start < images.Len(); start += j.Batch {
		batch, err := j.squares(start, min(start+j.Batch, images.Len()))
		if err != nil {
			return nil, err
		}
		for _, s := range batch {
			if math.IsNaN(s) || math.IsInf(s, 0) {
				out.Missed++
			} else {
				squares = append(squares, s)
			}
		}
		if o.Progress != nil {
			done := min(start+j.Batch, images.Len())
			o.Progress(progress.State{Task: "Jacobian", Done: float64(done), Total: float64(images.Len()),
				Unit: "images", Left: -1, Final: done == images.Len()})
		}
	}
	if len(squares) == 0 {
		return nil, fmt.Errorf("spectral: no image of %s has a finite Jacobian", images.Name)
	}
	e := spectral.EstimateOf(squares)
	out.Norm, out.Images = math.Sqrt(e.Mean), len(squares)
	if e.Interval != nil {
		out.Interval = []float64{math.Sqrt(max(e.Interval[0], 0)), math.Sqrt(e.Interval[1])}
	}
	return out, nil
}

func (o Options) check(info classifier.Info, images *dataset.Images, gradients bool) error {
	switch {
	case !gradients && !info.Logits:
		return fmt.Errorf("spectral: %s gives no logits, and the Jacobian is that of logits: a program over a pipe "+
			"must answer with logits", info.Name)
	case images.Len() == 0 || images.Shape != info.Shape:
		return fmt.Errorf("spectral: model %s takes images of %v, %s has %d of %v", info.Name, info.Shape, images.Name,
			images.Len(), images.Shape)
	case o.Projections < 0 || o.Batch < 0:
		return &spectral.InputError{Argument: "projections, batch",
			Value: fmt.Sprint(o.Projections, ", ", o.Batch), Expected: "at least 0"}
	case o.Std != nil && len(o.Std) != info.Shape.Channels:
		return &spectral.InputError{Argument: "deviations", Value: fmt.Sprint(o.Std),
			Expected: fmt.Sprintf("one for each of %d channels", info.Shape.Channels)}
	}
	for _, s := range o.Std {
		if !(s > 0) || math.IsInf(s, 0) {
			return &spectral.InputError{Argument: "deviations", Value: fmt.Sprint(o.Std), Expected: "positive numbers"}
		}
	}
	return nil
}

type jacobian struct {
	Options
	ctx       context.Context
	model     classifier.Classifier
	gradients classifier.Differentiable
	info      classifier.Info
	images    *dataset.Images
}

// std is the deviation of the k-th value of an image.
func (j *jacobian) std(k int) float64 {
	if j.Std == nil {
		return 1
	}
	return j.Std[k%len(j.Std)]
}

// squares are ‖J‖² of the images from start to end.
func (j *jacobian) squares(start, end int) ([]float64, error) {
	n, size, classes := end-start, j.info.Shape.Len(), j.info.Classes
	real := realImages(j.images, start, end)
	out := make([]float64, n)
	if j.gradients == nil {
		return out, j.differences(real, start, out)
	}
	passes, factor := classes, 1.0
	if j.Projections > 0 {
		passes, factor = j.Projections, float64(classes)/float64(j.Projections)
	}
	random := j.random(start, n)
	v, gradient := make([]float32, n*classes), make([]float32, n*size)
	for pass := range passes {
		clear(v)
		for i := range n {
			if j.Projections == 0 {
				v[i*classes+pass] = 1
				continue
			}
			for c, x := range direction(random[i], classes) {
				v[i*classes+c] = float32(x)
			}
		}
		if err := j.gradients.VectorJacobian(j.ctx, real, v, gradient); err != nil {
			return nil, err
		}
		for i := range n {
			for k, g := range gradient[i*size : (i+1)*size] {
				g := float64(g) * j.std(k)
				out[i] += factor * g * g
			}
		}
	}
	return out, nil
}

// differences adds central differences along random directions.
func (j *jacobian) differences(real []float32, start int, out []float64) error {
	const h = 1. / pixel.Steps
	n, size, classes := len(out), j.info.Shape.Len(), j.info.Classes
	random := j.random(start, n)
	moved := make([]float32, 2*n*size)
	result := classifier.Result{Classes: make([]int32, 2*n), Logits: make([]float32, 2*n*classes)}
	for range j.Projections {
		for i := range n {
			for k, u := range direction(random[i], size) {
				x, step := real[i*size+k], float32(h*u*j.std(k))
				moved[i*size+k], moved[(n+i)*size+k] = x+step, x-step
			}
		}
		if err := j.model.Classify(j.ctx, classifier.Batch{N: 2 * n, Real: moved}, &result); err != nil {
			return err
		}
		for i := range n {
			if result.Classes[i] == classifier.Miss || result.Classes[n+i] == classifier.Miss {
				out[i] = math.NaN()
				continue
			}
			for c := range classes {
				d := float64(result.Logits[i*classes+c]-result.Logits[(n+i)*classes+c]) / (2 * h)
				out[i] += float64(size) / float64(j.Projections) * d * d
			}
		}
	}
	return nil
}

// random are the random numbers of each image, by its id: of equal seeds they do not depend on the batch.
func (j *jacobian) random(start, n int) []*rand.Rand {
	out := make([]*rand.Rand, n)
	for i := range out {
		out[i] = rand.New(rand.NewPCG(j.Seed, uint64(j.images.IDs[start+i])))
	}
	return out
}

// direction is uniform on the unit sphere of n dimensions.
func direction(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	sum := 0.0
	for sum == 0 {
		for i := range v {
			v[i] = rng.NormFloat64()
			sum += v[i] * v[i]
		}
	}
	for i := range v {
		v[i] /= math.Sqrt(sum)
	}
	return v
}

func realImages(images *dataset.Images, start, end int) []float32 {
	var real []float32
	for i := start; i < end; i++ {
		for _, g := range images.Grid(i) {
			real = append(real, float32(g)/pixel.Steps)
		}
	}
	return real
}

// Layers gives the gradients of a network that is read as layers.
func Layers(n *feedforward.Network, classes int) classifier.Differentiable { return layers{n, classes} }

type layers struct {
	network *feedforward.Network
	classes int
}

// VectorJacobian implements classifier.Differentiable.
func (l layers) VectorJacobian(ctx context.Context, images, v, gradient []float32) error {
	n := len(v) / l.classes
	size := len(images) / n
	points := make([][]float64, n)
	for i := range points {
		points[i] = wide(images[i*size : (i+1)*size])
	}
	_, gradients, err := l.network.VectorJacobians(ctx, points,
		func(i int, _ []float64) []float64 { return wide(v[i*l.classes : (i+1)*l.classes]) })
	if err != nil {
		return err
	}
	for i, g := range gradients {
		for k, x := range g {
			gradient[i*size+k] = float32(x)
		}
	}
	return nil
}

func wide(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}
