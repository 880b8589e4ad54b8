// Package torch brings weights to and from PyTorch's names and layouts, as the common public
// repositories of CIFAR residual networks have them, in safetensors and npz files. It needs
// no PyTorch.
//
// A convolution is [out, in, height, width] here and [height, width, in, out] in package nets; a
// dense layer is [out, in] here and [in, out] there. Its inputs, where they are an image, come
// channel by channel here and pixel by pixel there. Batch normalisation has weight,
// bias, running_mean and running_var. The names of a residual network are
//
//	conv1, bn1, layer1.0.conv1, layer1.0.bn1, layer1.0.conv2, layer1.0.bn2, …,
//	layer2.0.downsample.0 and .1 (1×1 convolution and normalisation), …, fc
//
// and those of the small network conv1, bn1, conv2, bn2, conv3, bn3, fc. Conv8 and VGG16 have the
// names of RobustNets, whose dense layers without bias are convolutions of 1×1 pixels, [out, in, 1,
// 1]; see layerNames.
package torch

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// ExportWeights gives the weights of a model in PyTorch's names and layouts. The input layer of the
// model, which has no weights, is left to the reader.
func ExportWeights(m *modelfile.Model) []modelfile.Tensor {
	places := arrangement(m.Card.Architecture)
	out := make([]modelfile.Tensor, len(places))
	for i, p := range places {
		out[i] = modelfile.Tensor{Name: p.theirs, Shape: p.shape, Values: make([]float32, len(m.Weights[i].Values))}
		for j, v := range m.Weights[i].Values {
			out[i].Values[p.index(j)] = v
		}
	}
	return out
}

// place says where a tensor of package nets stands in PyTorch.
type place struct {
	ours, theirs string
	own, shape   []int // ours, theirs
	index        func(ours int) int
}

// arrangement gives the places of all tensors of a network, in the order of its Tensors.
func arrangement(a nets.Architecture) []place {
	depths := map[string]int{}    // of what dense layers take, by their kernels
	unbiased := map[string]bool{} // those without a bias
	layers := a.Layers()
	for _, l := range layers {
		if l.Kind == netparts.Dense {
			depths[l.Name+"/kernel"] = layers[l.Inputs[0]].Shape.Channels
			unbiased[l.Name+"/kernel"] = !l.Bias
		}
	}
	var places []place
	names := layerNames(a.Name)
	for _, t := range a.Tensors() {
		p := place{ours: t.Name, theirs: rename(t.Name, names), own: t.Shape, shape: t.Shape,
			index: func(i int) int { return i }}
		switch len(t.Shape) {
		case 4:
			height, width, in, out := t.Shape[0], t.Shape[1], t.Shape[2], t.Shape[3]
			p.shape = []int{out, in, height, width}
			p.index = func(i int) int {
				o, rest := i%out, i/out
				c, at := rest%in, rest/in
				return (o*in+c)*height*width + at
			}
		case 2:
			in, out := t.Shape[0], t.Shape[1]
			depth, pixels := depths[t.Name], in/depths[t.Name]
			p.shape = []int{out, in}
			if unbiased[t.Name] {
				p.shape = []int{out, in, 1, 1}
			}
			p.index = func(i int) int {
				o, from := i%out, i/out
				return o*in + from%depth*pixels + from/depth
			}
		}
		places = append(places, p)
	}
	return places
}

// rename gives PyTorch's name of a tensor of package nets, such as layer2.0.downsample.0.weight
// for stage2/block0/shortcut/conv/kernel; of the layers in names, the name there.
func rename(name string, names map[string]string) string {
	layer, kind, _ := cutLast(name, "/")
	var stage, block int
	prefix := ""
	if n, _ := fmt.Sscanf(layer, "stage%d/block%d/", &stage, &block); n == 2 {
		prefix = fmt.Sprintf("layer%d.%d.", stage, block)
		layer = strings.SplitN(layer, "/", 3)[2]
	}
	layer = strings.NewReplacer("shortcut/conv", "downsample.0", "shortcut/bn", "downsample.1").Replace(layer)
	own, named := names[layer]
	switch {
	case named:
		layer = own
	case layer == "conv", layer == "bn":
		layer += "1"
	case layer == "head":
		layer = "fc"
	}
	kinds := map[string]string{"kernel": "weight", "bias": "bias", "scale": "weight", "shift": "bias",
		"mean": "running_mean", "variance": "running_var"}
	return prefix + layer + "." + kinds[kind]
}
