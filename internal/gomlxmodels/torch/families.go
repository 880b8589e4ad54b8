package torch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// layerNames are PyTorch's names of the layers of Conv8 and VGG16, as the published models of
// Fridovich-Keil et al. 2022 (RobustNets) have them: numbers are places in an nn.Sequential, which
// counts activations and maxima, too. Nil for networks whose names follow from ours.
func layerNames(network string) map[string]string {
	names := map[string]string{}
	switch network {
	case "conv8":
		for i := range 8 {
			names["conv"+strconv.Itoa(i+1)] = fmt.Sprintf("convs.%d", 5*(i/2)+2*(i%2))
		}
		names["dense1"], names["dense2"], names["head"] = "linear.0", "linear.2", "linear.4"
	case "vgg16", "vgg16-unbiased":
		conv, place := 0, 0
		for _, convolutions := range []int{2, 2, 3, 3, 3} {
			for range convolutions {
				conv++
				number := strconv.Itoa(conv)
				if network == "vgg16" {
					names["conv"+number], names["bn"+number] = fmt.Sprintf("layers.%d.conv", place),
						fmt.Sprintf("layers.%d.bn", place)
					place++
				} else {
					names["conv"+number], names["bn"+number] = fmt.Sprintf("convs.%d", place), fmt.Sprintf("convs.%d",
						place+1)
					place += 3
				}
			}
			place++ // the maximum
		}
		names["head"] = "fc"
		if network == "vgg16-unbiased" {
			names["head"] = "linear.0"
		}
	default:
		return nil
	}
	return names
}

// twin is a second name of a tensor, which Conv8 has: its last layer is known by itself, too.
const twinOf, twin = "linear.4.weight", "output.weight"

// dropTwin leaves the second name of one tensor out.
func dropTwin(byName map[string]modelfile.Tensor) error {
	a, b := byName[twinOf], byName[twin]
	if a.Name == "" || b.Name == "" {
		return nil
	}
	if !slices.Equal(a.Shape, b.Shape) || !slices.Equal(a.Values, b.Values) {
		return fmt.Errorf("tensors %q and %q differ, and are two names of one", a.Name, b.Name)
	}
	delete(byName, twin)
	return nil
}

// fillNorms gives normalisations that have no scales and shifts, as those of networks whose weights
// are not trained, scales of 1 and shifts of 0. It does so where all of a network are without.
func fillNorms(byName map[string]modelfile.Tensor, places []place) {
	var filled []modelfile.Tensor
	for _, p := range places {
		if !strings.HasSuffix(p.ours, "/scale") && !strings.HasSuffix(p.ours, "/shift") {
			continue
		}
		if _, there := byName[p.theirs]; there {
			return
		}
		norm, _, _ := cutLast(p.theirs, ".")
		if _, there := byName[norm+".running_mean"]; !there {
			return
		}
		t := modelfile.Tensor{Name: p.theirs, Shape: p.shape, Values: make([]float32, size(p.shape))}
		for i := range t.Values {
			if strings.HasSuffix(p.ours, "/scale") {
				t.Values[i] = 1
			}
		}
		filled = append(filled, t)
	}
	for _, t := range filled {
		byName[t.Name] = t
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// asDense is the shape of a dense layer where a file has it as a convolution of 1×1 pixels.
func asDense(t modelfile.Tensor, p place) modelfile.Tensor {
	if len(p.own) == 2 && len(t.Shape) != len(p.shape) && slices.Equal(append(slices.Clone(t.Shape), 1, 1)[:4],
		append(slices.Clone(p.shape), 1, 1)[:4]) {
		t.Shape = p.shape
	}
	return t
}
