// Package nets defines image classifiers as GoMLX graphs: a small convolutional network
// for images of any size, the CIFAR residual networks of He et al. 2016 (section 4.2,
// with the projection shortcut, option B), their pre-activation form of 18 layers, and the
// ImageNet form of 50 layers.
//
// A network is an Architecture, a plain value. Its tensors have stable, readable names,
// such as "stage1/block0/conv1/kernel"; Forward and ForwardTraining take them from a
// lookup, so that a caller may keep them as parameters, variables or constants. One
// definition runs on XLA, with native convolutions, and on GoMLX's Go backend, with
// convolutions as matrix products.
package nets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/pixel"
)

// Names of the networks.
const (
	SmallCNN       = "small-cnn"
	PreActResNet18 = "preact-resnet18"
	ResNet50       = "resnet50"
)

// Input layers: what is done to an image before the first convolution.
const (
	InputNone        = "none"        // nothing: values in [0, 1], as in the smoothing literature
	InputCenter      = "center"      // subtract the CIFAR-10 channel means
	InputStandardize = "standardize" // and divide by the CIFAR-10 channel deviations
	InputImageNet    = "imagenet"    // as InputStandardize, by the ImageNet statistics, which some CIFAR networks were trained with
)

// Architecture describes a network. Inputs are images [N, Height, Width, Channels], float32
// in units of the full range, so that a stored image lies in [0, 1]; outputs are logits [N, Classes].
type Architecture struct {
	Name    string      `json:"name"`            // one of Names
	Shape   pixel.Shape `json:"shape"`           // of an image
	Classes int         `json:"classes"`         // number of classes, at least 2
	Input   string      `json:"input,omitempty"` // input layer; empty for InputNone
}

// Names lists the networks.
func Names() []string {
	return []string{SmallCNN, "resnet8", "resnet20", "resnet32", "resnet44", "resnet56", "resnet110", PreActResNet18, ResNet50}
}

// Inputs lists the input layers.
func Inputs() []string {
	return []string{InputNone, InputCenter, InputStandardize, InputImageNet}
}

// blocksPerStage is n of a residual network of 6n+2 layers.
var blocksPerStage = map[string]int{"resnet8": 1, "resnet20": 3, "resnet32": 5, "resnet44": 7, "resnet56": 9, "resnet110": 18}

// CheckName says whether there is a network with an input layer, which may be empty; whether it fits the images, Architecture.Check says.
func CheckName(network, input string) error {
	if !slices.Contains(Names(), network) {
		return fmt.Errorf("nets: no network %q; there are %s", network, strings.Join(Names(), ", "))
	}
	if input != "" && !slices.Contains(Inputs(), input) {
		return fmt.Errorf("nets: %s: no input layer %q; there are %s", network, input, strings.Join(Inputs(), ", "))
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
	if a.Input != "" && a.Input != InputNone && a.Shape.Channels != len(cifarMean) {
		return fmt.Errorf("nets: %s: input layer %q is for images of %d channels, not %v", a.Name, a.Input, len(cifarMean), a.Shape)
	}
	return nil
}

// Tensor describes one tensor of a network.
type Tensor struct {
	Name  string
	Shape []int
	// Running marks an average of batch normalisation: kept by training, not by the optimizer.
	Running bool

	init initializer
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
	b := &builder{}
	b.network(a, value{shape: a.Shape})
	return b.tensors
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
