package nets

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/pixel"
)

// Network is the definition of an image classifier, described once, layer by layer. The graph, its gradients, the
// tensors of a model file and the ONNX file all come from that description. Implementations are plain values. Register
// adds a network of your own; see examples/own-network.
type Network interface {
	// Name is the network on cards and command lines, e.g. "resnet20".
	Name() string
	// Layers describes the network from its images to its logits, 1×1×classes.
	Layers(b *Builder, images Value, classes int) Value
}

// layer is one step of a network.
type layer = netparts.Layer

// ConvOptions say what a convolution is.
type ConvOptions struct {
	Size     int  // side of the kernel in pixels, odd
	Channels int  // that it gives
	Stride   int  // default 1
	Bias     bool // also where the architecture asks for none
	// kernel uniform in ±1/√(inputs of an output), as PyTorch has it; else normal with variance
	// 2/(Size²·Channels)
	Uniform bool
	FanIn   bool // kernel normal with variance 2/(inputs of an output) (He et al. 2015, equation 10)
}

// Builder takes down the layers of a network. Its methods panic if a layer cannot follow another; Architecture.Check
// turns that into an error.
type Builder struct {
	architecture Architecture
	layers       []layer
	tensors      []Tensor
	scaled       bool // a width was asked for
}

// Value is the output of a layer.
type Value struct {
	at    int
	shape pixel.Shape
	flat  bool
}

// Shape is its height, width and channels.
func (v Value) Shape() pixel.Shape { return v.shape }

// definition is a described network.
type definition struct {
	architecture Architecture
	layers       []layer
	tensors      []Tensor
}

type misfit struct{ error }

// describe takes down a network for an architecture.
func describe(n Network, a Architecture) (d *definition, err error) {
	defer func() {
		if e := recover(); e != nil {
			m, ours := e.(misfit)
			if !ours {
				panic(e)
			}
			err = fmt.Errorf("nets: %s: %w", n.Name(), m.error)
		}
	}()
	b := &Builder{architecture: a}
	in := b.add(layer{Kind: netparts.Images, Name: "images", Shape: a.Shape})
	first := in
	if a.Denoiser > 0 {
		first = b.denoiser(in, a.Denoiser)
		first = b.add(layer{Kind: netparts.Normalize, Name: "denoiser/input", Inputs: []int{first.at}, Shape: a.Shape})
	}
	out := n.Layers(b, first, a.Classes)
	switch {
	case out.at != len(b.layers)-1 || out.at == 0:
		b.misfit("what it gives is not its last layer")
	case out.shape != pixel.Shape{Height: 1, Width: 1, Channels: a.Classes}:
		b.misfit("it gives %v; expected 1×1×%d, a logit for each class", out.shape, a.Classes)
	case !out.flat:
		b.misfit("it ends with an image of one pixel; expected a dense layer or a mean over all pixels")
	case a.Width != 0 && a.Width != 1 && !b.scaled:
		b.misfit("it has one width only; its definition does not ask Builder.Width")
	}
	if a.Posterior == ProoD {
		b.prood(in, out)
	}
	if a.Posterior == CCU {
		b.ccu(in, out)
	}
	return &definition{a, b.layers, b.tensors}, nil
}

func (b *Builder) misfit(format string, args ...any) { panic(misfit{fmt.Errorf(format, args...)}) }

func (b *Builder) add(l layer) Value {
	for _, other := range b.layers {
		if other.Name == l.Name {
			b.misfit("two layers are named %q", l.Name)
		}
	}
	if !l.Shape.Valid() {
		b.misfit("layer %q gives %v", l.Name, l.Shape)
	}
	b.layers = append(b.layers, l)
	return Value{len(b.layers) - 1, l.Shape, l.Flat}
}

func (b *Builder) tensor(layer, name string, init initializer, running bool, shape ...int) {
	b.tensors = append(b.tensors, Tensor{Name: layer + "/" + name, Shape: shape, Running: running, init: init})
}

// kernel and bias belong to a layer; all but the last of a kernel's sides are inputs of an output.
func (b *Builder) kernel(layer string, init initializer, shape ...int) {
	b.tensor(layer, "kernel", init, false, shape...)
	inputs := 1
	for _, side := range shape[:len(shape)-1] {
		inputs *= side
	}
	b.tensors[len(b.tensors)-1].ibp = normal(2 * math.Pi / float64(inputs) / float64(inputs))
}

func (b *Builder) bias(layer string, init initializer, outputs int) {
	b.tensor(layer, "bias", init, false, outputs)
	b.tensors[len(b.tensors)-1].ibp = constant(0)
}

// Width is a number of channels under the width of the architecture: rounded, at least 8 or the number itself.
func (b *Builder) Width(channels int) int {
	b.scaled = true
	w := b.architecture.Width
	if w == 0 || w == 1 {
		return channels
	}
	return max(int(math.Round(w*float64(channels))), min(channels, 8))
}

// Conv is a convolution.
func (b *Builder) Conv(name string, x Value, o ConvOptions) Value {
	stride := max(o.Stride, 1)
	switch {
	case x.flat:
		b.misfit("the convolution %q takes images, not what comes of a dense layer or a mean over all pixels", name)
	case o.Size < 1 || o.Size%2 == 0 || o.Channels < 1 || o.Stride < 0:
		b.misfit("the convolution %q has a kernel of %d pixels a side, %d channels and stride %d; expected an odd "+
			"side, and more than 0", name, o.Size, o.Channels, stride)
	}
	l := layer{Kind: netparts.Conv, Name: name, Inputs: []int{x.at}, Size: o.Size, Stride: stride, Bias: o.Bias ||
		b.architecture.Bias, Shape: pixel.Shape{
		Height:   (x.shape.Height-1)/stride + 1,
		Width:    (x.shape.Width-1)/stride + 1,
		Channels: o.Channels,
	}}
	fanIn := uniform(1 / math.Sqrt(float64(o.Size*o.Size*x.shape.Channels)))
	init := normal(2 / float64(o.Size*o.Size*o.Channels))
	switch {
	case o.Uniform:
		init = fanIn
	case o.FanIn:
		init = normal(2 / float64(o.Size*o.Size*x.shape.Channels))
	}
	b.kernel(name, init, o.Size, o.Size, x.shape.Channels, o.Channels)
	if l.Bias {
		b.bias(name, fanIn, o.Channels)
	}
	return b.add(l)
}

// Norm is batch normalisation (Ioffe and Szegedy 2015) per channel:
//
//	y = scale·(x − mean)/√(variance + 1e-5) + shift
//
// In training, mean and variance come from the batch, the variance divided by n. In evaluation they are the running
// averages.
func (b *Builder) Norm(name string, x Value) Value { return b.norm(name, x, constant(1)) }

func (b *Builder) norm(name string, x Value, scale initializer) Value {
	c := x.shape.Channels
	b.tensor(name, "scale", scale, false, c)
	b.tensor(name, "shift", constant(0), false, c)
	b.tensor(name, "mean", constant(0), true, c)
	b.tensor(name, "variance", constant(1), true, c)
	return b.add(layer{Kind: netparts.Norm, Name: name, Inputs: []int{x.at}, Shape: x.shape, Flat: x.flat})
}

// ReLU is max(x, 0) with derivative 0 at 0, and NaN for NaN.
func (b *Builder) ReLU(x Value) Value {
	return b.add(layer{Kind: netparts.ReLU, Name: b.layers[x.at].Name + "/relu", Inputs: []int{x.at}, Shape: x.shape,
		Flat: x.flat, Shared: true})
}

// Add is x + y.
func (b *Builder) Add(name string, x, y Value) Value {
	if x.shape != y.shape || x.flat != y.flat {
		b.misfit("the sum %q is of %v and %v; they must agree", name, x.shape, y.shape)
	}
	return b.add(layer{Kind: netparts.Add, Name: name, Inputs: []int{x.at, y.at}, Shape: x.shape, Flat: x.flat,
		Guarded: true})
}

// MaxPool is the maximum over 3×3 pixels with stride 2 and a border of one pixel, of values that are not negative.
func (b *Builder) MaxPool(name string, x Value) Value { return b.maxPool(name, x, 3) }

// MaxPool2 is the maximum over 2×2 pixels with stride 2, of values that are not negative; the last row and column of an
// odd side stand alone.
func (b *Builder) MaxPool2(name string, x Value) Value { return b.maxPool(name, x, 2) }

func (b *Builder) maxPool(name string, x Value, size int) Value {
	if x.flat {
		b.misfit("the maximum %q is over images", name)
	}
	return b.add(layer{Kind: netparts.MaxPool, Name: name, Inputs: []int{x.at}, Size: size,
		Shape: pixel.Shape{Height: (x.shape.Height-1)/2 + 1, Width: (x.shape.Width-1)/2 + 1,
			Channels: x.shape.Channels}})
}

// MeanPool is the mean over all pixels.
func (b *Builder) MeanPool(name string, x Value) Value {
	if x.flat {
		b.misfit("the mean %q is over images", name)
	}
	return b.add(layer{Kind: netparts.MeanPool, Name: name, Inputs: []int{x.at}, Flat: true,
		Shape: pixel.Shape{Height: 1, Width: 1, Channels: x.shape.Channels}})
}

// Dense is x·kernel + bias, of all values of x, both tensors uniform in ±1/√inputs at the beginning.
func (b *Builder) Dense(name string, x Value, outputs int) Value {
	init := uniform(1 / math.Sqrt(float64(x.shape.Len())))
	return b.dense(name, x, outputs, init, init)
}

// dense is a dense layer, whose bias may be nil for none.
func (b *Builder) dense(name string, x Value, outputs int, kernel, bias initializer) Value {
	if outputs < 1 {
		b.misfit("the dense layer %q has %d outputs", name, outputs)
	}
	b.kernel(name, kernel, x.shape.Len(), outputs)
	if bias != nil {
		b.bias(name, bias, outputs)
	}
	return b.add(layer{Kind: netparts.Dense, Name: name, Inputs: []int{x.at}, Flat: true, Bias: bias != nil,
		Shape: pixel.Shape{Height: 1, Width: 1, Channels: outputs}})
}

// share and guard mark what has several users in residual networks; see package netgraph.
func (b *Builder) share(x Value) Value { b.layers[x.at].Shared = true; return x }
func (b *Builder) guard(x Value) Value { b.layers[x.at].Guarded = true; return x }
