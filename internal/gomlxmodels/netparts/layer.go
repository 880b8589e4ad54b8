package netparts

import "github.com/certspec/certspec/pixel"

// Kind of a layer.
type Kind string

// The kinds.
const (
	Images Kind = "images" // what goes in; the first layer, and no other
	// Conv is convolution with zero padding of (Size−1)/2; tensors kernel [Size, Size, in, out]
	// and, with Bias, bias [out]
	Conv Kind = "conv"
	// Norm is batch normalisation per channel; tensors scale, shift, mean, variance, all [channels]
	Norm Kind = "norm"
	ReLU Kind = "relu" // max(x, 0)
	Add  Kind = "add"  // sum of two
	// MaxPool is the maximum over Size×Size pixels, stride 2: over 3×3 with a border of one pixel,
	// over 2×2 without; its input must not be negative
	MaxPool  Kind = "max-pool"
	MeanPool Kind = "mean-pool" // mean over all pixels
	// Dense is x·kernel + bias; tensors kernel [inputs, outputs] and, with Bias, bias [outputs];
	// inputs pixel by pixel
	Dense   Kind = "dense"
	Halve   Kind = "halve"   // mean over 2×2 pixels, stride 2; an odd last row or column is left out
	Mixture Kind = "mixture" // of images, ln p(x|in) and ln p(x|out); see mixture.go of nets
	// Join is, of logits f and h, one value: softplus(h + Δ + ln K + max(log softmax(f), −100));
	// see posterior.go of nets
	Join Kind = "join"
	// Unfold makes 2×2 pixels of each, a quarter of the channels: channel (2i + j)·C + c goes to
	// row i, column j
	Unfold    Kind = "unfold"
	Normalize Kind = "normalize" // the input layer of a network with a denoiser, which stands before it
)

// Layer is one step of a network. Layers stand in the order in which they are computed.
type Layer struct {
	Kind   Kind
	Name   string      // stands before those of its tensors, as in NAME/kernel
	Inputs []int       // places of the layers that it takes
	Shape  pixel.Shape // of what it gives; of a dense layer and after it 1×1×outputs
	Flat   bool        // that is [N, channels], not [N, height, width, channels]
	Size   int         // of a convolution and a maximum: side of the kernel
	Stride int         // of a convolution
	Bias   bool        // of a convolution and a dense layer
	// Negative is of a dense layer whose weights are −exp(kernel).
	Negative bool

	// Where XLA on the CPU is kept from computing it more than once; see spans of netgraph.
	Shared, Guarded bool
}
