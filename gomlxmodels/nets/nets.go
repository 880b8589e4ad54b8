// Package nets describes image classifiers: a small convolutional network for images of any size; the
// CIFAR residual networks of He et al. 2016 (section 4.2, with the projection shortcut, option B), their pre-activation
// form of 18 layers, and the ImageNet form of 50 layers; the plain networks L and XL of Bitterwolf et al. 2020; and the
// networks of the literature on pruning: eight convolutions, the residual network of 18 layers for CIFAR, and VGG of 16
// layers.
//
// A Network is a description, layer by layer; an Architecture is one for images of a shape, a plain value. Its tensors
// have stable, readable names, such as "stage1/block0/conv1/kernel". GoMLX's graphs and ONNX files are made from a
// description, which itself needs neither.
package nets

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/certspec/certspec/internal/choice"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/pixel"
)

// Input is an input layer: what is done to an image before the first convolution.
type Input string

const (
	inputNone        Input = "none"        // nothing: values in [0, 1], as in the smoothing literature
	inputCenter      Input = "center"      // subtract the CIFAR-10 channel means
	inputStandardize Input = "standardize" // and divide by the CIFAR-10 channel deviations
	// cifarInput is as inputStandardize, by the means and deviations of all pixel values of
	// CIFAR-10, as in RobustNets
	cifarInput Input = "cifar10"
	// inputImageNet is as inputStandardize, by the ImageNet statistics, which some CIFAR networks
	// were trained with
	inputImageNet Input = "imagenet"
)

// Architecture describes a network. Inputs are images [N, Height, Width, Channels], float32
// in units of the full range, so that a stored image lies in [0, 1]; outputs are logits [N, Classes].
type Architecture struct {
	Name    string      `json:"name"`            // one of Names
	Shape   pixel.Shape `json:"shape"`           // of an image
	Classes int         `json:"classes"`         // number of classes, at least 2
	Input   Input       `json:"input,omitempty"` // input layer; empty for "none"
	// factor of all numbers of channels but the first and the last, at most 64; 0 for 1
	Width float64 `json:"width,omitempty"`
	Bias  bool    `json:"bias,omitempty"` // convolutions have biases, too, where the network's own have none

	// Posterior joins the network, as a classifier, with what says how likely an image is one of
	// the classes at all; see posterior.go.
	Posterior string  `json:"posterior,omitempty"`
	Shift     float64 `json:"shift,omitempty"` // of ProoD, Δ, which h stands with in the posterior

	// Channels of a U-Net that denoises the images before the input layer; 0 for none. With 16 and images of
	// 32×32×3 it has 131,443 parameters.
	Denoiser int `json:"denoiser,omitempty"`
}

var (
	registry = []Network{smallCNN{}, resnet(1), resnet(3), resnet(5), resnet(7), resnet(9), resnet(18), preActResNet18,
		resNet50, large, extraLarge,
		conv8{}, postActivations{}, postActivations{unbiased: true}, vgg{}, vgg{unbiased: true}}
	registryMu sync.RWMutex
)

// Register adds a network of your own, which cards and recipes in this program then know by its name. It panics if the
// name is empty or that of a network of another type.
func Register(n Network) {
	registryMu.Lock()
	defer registryMu.Unlock()
	for _, other := range registry {
		if n.Name() == "" || other.Name() == n.Name() && !reflect.DeepEqual(other, n) {
			panic(fmt.Sprintf("nets: a network is named %q twice", n.Name()))
		}
		if other.Name() == n.Name() {
			return
		}
	}
	registry = append(registry, n)
}

// Names lists the networks.
func Names() (names []string) {
	registryMu.RLock()
	defer registryMu.RUnlock()
	for _, n := range registry {
		names = append(names, n.Name())
	}
	return names
}

func find(name string) Network {
	registryMu.RLock()
	defer registryMu.RUnlock()
	for _, n := range registry {
		if n.Name() == name {
			return n
		}
	}
	return nil
}

// Inputs lists the input layers.
func Inputs() []Input {
	return []Input{inputNone, inputCenter, inputStandardize, cifarInput, inputImageNet}
}

// Posteriors lists what a network may be joined with.
func Posteriors() []string { return []string{ProoD, CCU} }

// CheckName says whether there is a network with an input layer, which may be empty. Architecture.Check says whether it
// fits the images.
func CheckName(network string, input Input) error {
	if find(network) == nil {
		return fmt.Errorf("nets: no network %q; there are %s", network, strings.Join(Names(), ", "))
	}
	if input != "" && !slices.Contains(Inputs(), input) {
		return fmt.Errorf("nets: %s: no input layer %q; there are %s", network, input, choice.List(Inputs()))
	}
	return nil
}

// Check says what is wrong with an architecture.
func (a Architecture) Check() error {
	if err := CheckName(a.Name, a.Input); err != nil {
		return err
	}
	if !a.Shape.Valid() {
		return fmt.Errorf("nets: %s: image of %v; every side must be positive", a.Name, a.Shape)
	}
	if a.Classes < 2 {
		return fmt.Errorf("nets: %s: %d classes; expected at least 2", a.Name, a.Classes)
	}
	if a.Input != "" && a.Input != inputNone && a.Shape.Channels != len(cifarMean) {
		return fmt.Errorf("nets: %s: input layer %q is for images of %d channels, not %v", a.Name, a.Input,
			len(cifarMean), a.Shape)
	}
	if a.Posterior != "" && !slices.Contains(Posteriors(), a.Posterior) {
		return fmt.Errorf("nets: %s: posterior %q; expected none or one of %q", a.Name, a.Posterior, Posteriors())
	}
	if a.Shift != 0 && a.Posterior != ProoD || math.IsNaN(a.Shift) || math.Abs(a.Shift) > -netparts.LeastLogP {
		return fmt.Errorf("nets: %s: shift %v; expected a number from %d to %d, and 0 but with the posterior %q",
			a.Name, a.Shift, netparts.LeastLogP, -netparts.LeastLogP, ProoD)
	}
	if a.Denoiser < 0 || a.Denoiser > 1024 || a.Denoiser > 0 && a.Posterior != "" {
		return fmt.Errorf("nets: %s: a denoiser of %d channels with the posterior %q; expected 0 to 1,024 channels, "+
			"and none beside a posterior", a.Name, a.Denoiser, a.Posterior)
	}
	if !(a.Width >= 0 && a.Width <= 64) || a.Width > 0 && a.Width < 1./1024 {
		return fmt.Errorf("nets: %s: width %v; expected a factor from 1/1024 to 64", a.Name, a.Width)
	}
	_, err := describe(find(a.Name), a)
	return err
}

// must is the description of an architecture that passes Check.
func (a Architecture) must() *definition {
	if err := a.Check(); err != nil {
		panic(err.Error())
	}
	d, _ := describe(find(a.Name), a)
	return d
}

// Layers returns the layers of the network, the images first, the logits last. It panics if the architecture does not
// pass Check.
func (a Architecture) Layers() []netparts.Layer { return a.must().layers }

// Tensor describes one tensor of a network.
type Tensor struct {
	Name  string
	Shape []int
	// Running marks an average of batch normalisation: kept by training, not by the optimizer.
	Running bool

	init, ibp initializer // ibp: nil where initialIBP changes nothing
}

// Size is the number of values.
func (t Tensor) Size() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Tensors lists the tensors of the network in the order of the forward pass.
// It panics where the architecture does not pass Check.
func (a Architecture) Tensors() []Tensor {
	return a.must().tensors
}

// Parameters is the number of trained values, running averages left out.
func (a Architecture) Parameters() int {
	n := 0
	for _, t := range a.Tensors() {
		if !t.Running {
			n += t.Size()
		}
	}
	return n
}

// Means and deviations of the channels of the CIFAR-10 training set, and of ImageNet's, as torchvision has them.
var (
	cifarMean         = []float64{0.4914, 0.4822, 0.4465}
	cifarDeviation    = []float64{0.2023, 0.1994, 0.2010}
	pixelMean         = []float64{0.491, 0.482, 0.447}
	pixelDeviation    = []float64{0.247, 0.243, 0.262}
	imageNetMean      = []float64{0.485, 0.456, 0.406}
	imageNetDeviation = []float64{0.229, 0.224, 0.225}
)

// Normalization is the input layer, (x − mean[c]) / deviation[c] per channel c. An empty
// slice stands for zeros or ones.
func (a Architecture) Normalization() (mean, deviation []float64) {
	switch a.Input {
	case inputCenter:
		return cifarMean, nil
	case inputStandardize:
		return cifarMean, cifarDeviation
	case cifarInput:
		return pixelMean, pixelDeviation
	case inputImageNet:
		return imageNetMean, imageNetDeviation
	}
	return nil, nil
}
