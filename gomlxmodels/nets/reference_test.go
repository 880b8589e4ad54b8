package nets_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	. "github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// byHand computes residual networks of one image as their papers describe them, number by number, with running averages.
type byHand map[string][]float64

type activation struct {
	pixel.Shape
	v []float64
}

func (a activation) at(y, x, c int) float64 {
	if y < 0 || x < 0 || y >= a.Height || x >= a.Width {
		return 0
	}
	return a.v[(y*a.Width+x)*a.Channels+c]
}

// each makes an activation, value by value.
func each(s pixel.Shape, f func(y, x, c int) float64) activation {
	a := activation{s, make([]float64, s.Len())}
	for y := range s.Height {
		for x := range s.Width {
			for c := range s.Channels {
				a.v[(y*s.Width+x)*s.Channels+c] = f(y, x, c)
			}
		}
	}
	return a
}

func (w byHand) conv(name string, a activation, size, out, stride int) activation {
	kernel := w[name+"/kernel"]
	s := pixel.Shape{Height: (a.Height + stride - 1) / stride, Width: (a.Width + stride - 1) / stride, Channels: out}
	return each(s, func(y, x, c int) float64 {
		sum := 0.0
		for i := range size {
			for j := range size {
				for k := range a.Channels {
					sum += a.at(y*stride+i-size/2, x*stride+j-size/2, k) * kernel[((i*size+j)*a.Channels+k)*out+c]
				}
			}
		}
		return sum
	})
}

func (w byHand) norm(name string, a activation) activation {
	return each(a.Shape, func(y, x, c int) float64 {
		return w[name+"/scale"][c]*(a.at(y, x, c)-w[name+"/mean"][c])/math.Sqrt(w[name+"/variance"][c]+1e-5) + w[name+"/shift"][c]
	})
}

func relu(a activation) activation {
	return each(a.Shape, func(y, x, c int) float64 { return max(a.at(y, x, c), 0) })
}

func sum(a, b activation) activation {
	return each(a.Shape, func(y, x, c int) float64 { return a.at(y, x, c) + b.at(y, x, c) })
}

// head is global average pooling and the dense layer.
func (w byHand) head(a activation, classes int) []float64 {
	logits := slices.Clone(w["head/bias"])
	for k := range classes {
		for i, v := range a.v {
			logits[k] += v / float64(a.Height*a.Width) * w["head/kernel"][i%a.Channels*classes+k]
		}
	}
	return logits
}

// resnet50 has its strides in the 3×3 convolutions.
func (w byHand) resnet50(a activation, width int, blocks []int, classes int) []float64 {
	a = relu(w.norm("bn", w.conv("conv", a, 7, width, 2)))
	whole := a
	a = each(pixel.Shape{Height: (a.Height + 1) / 2, Width: (a.Width + 1) / 2, Channels: width}, func(y, x, c int) float64 {
		most := 0.0 // no value is below it
		for i := range 3 {
			for j := range 3 {
				most = max(most, whole.at(2*y+i-1, 2*x+j-1, c))
			}
		}
		return most
	})
	for stage, n := range blocks {
		for block := range n {
			name, width, stride := fmt.Sprintf("stage%d/block%d", stage+1, block), width<<stage, 1
			shortcut := a
			if block == 0 {
				if stage > 0 {
					stride = 2
				}
				shortcut = w.norm(name+"/shortcut/bn", w.conv(name+"/shortcut/conv", a, 1, 4*width, stride))
			}
			h := relu(w.norm(name+"/bn1", w.conv(name+"/conv1", a, 1, width, 1)))
			h = relu(w.norm(name+"/bn2", w.conv(name+"/conv2", h, 3, width, stride)))
			a = relu(sum(w.norm(name+"/bn3", w.conv(name+"/conv3", h, 1, 4*width, 1)), shortcut))
		}
	}
	return w.head(a, classes)
}

func (w byHand) preActResNet18(a activation, width int, blocks []int, classes int) []float64 {
	a = w.conv("conv", a, 3, width, 1)
	for stage, n := range blocks {
		for block := range n {
			name, stride := fmt.Sprintf("stage%d/block%d", stage+1, block), 1
			h := relu(w.norm(name+"/bn1", a))
			if stage > 0 && block == 0 {
				stride = 2
				a = w.conv(name+"/shortcut/conv", h, 1, width<<stage, 2)
			}
			h = relu(w.norm(name+"/bn2", w.conv(name+"/conv1", h, 3, width<<stage, stride)))
			a = sum(w.conv(name+"/conv2", h, 3, width<<stage, 1), a)
		}
	}
	return w.head(relu(w.norm("bn", a)), classes)
}

func (w byHand) cifar(a activation, blocks, classes int) []float64 {
	a = relu(w.norm("bn", w.conv("conv", a, 3, 16, 1)))
	for stage := range 3 {
		for block := range blocks {
			name, stride, shortcut := fmt.Sprintf("stage%d/block%d", stage+1, block), 1, a
			if stage > 0 && block == 0 {
				stride = 2
				shortcut = w.norm(name+"/shortcut/bn", w.conv(name+"/shortcut/conv", a, 1, 16<<stage, 2))
			}
			h := relu(w.norm(name+"/bn1", w.conv(name+"/conv1", a, 3, 16<<stage, stride)))
			a = relu(sum(w.norm(name+"/bn2", w.conv(name+"/conv2", h, 3, 16<<stage, 1)), shortcut))
		}
	}
	return w.head(a, classes)
}

// The residual networks against sums written out, in float64. Sides are odd and even, so that a stride in the wrong place, or a border on
// the wrong side, shows.
func TestResidualNetworksByHand(t *testing.T) {
	shape := pixel.Shape{Height: 23, Width: 18, Channels: 2}
	const classes = 3
	for name, c := range map[string]struct {
		network Network
		want    func(w byHand, a activation) []float64
	}{
		"resnet50": {
			Bottlenecks("resnet50-by-hand", 4, 2, 2, 1),
			func(w byHand, a activation) []float64 { return w.resnet50(a, 4, []int{2, 2, 1}, classes) },
		},
		"preact-resnet18": {
			PreActivations("preact-resnet18-by-hand", 4, 2, 2, 1),
			func(w byHand, a activation) []float64 { return w.preActResNet18(a, 4, []int{2, 2, 1}, classes) },
		},
		"resnet14": {
			ResNet(2),
			func(w byHand, a activation) []float64 { return w.cifar(a, 2, classes) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			Register(c.network)
			a := Architecture{Name: c.network.Name(), Shape: shape, Classes: classes}
			n := &network{Network: netgraph.Network{Architecture: a}, list: a.Tensors()}
			weights := byHand{}
			for _, tensor := range n.list {
				weights[tensor.Name] = wavy(tensor)
			}
			images := n.batch(1, 9)
			got, err := CallOnce(engines.Backend(t, "go").Backend, func(images *Node) *Node {
				lookup := func(name string) *Node {
					i := slices.IndexFunc(n.list, func(t Tensor) bool { return t.Name == name })
					return Const(images.Graph(), tensors.FromFlatDataAndDimensions(slices.Clone(weights[name]), n.list[i].Shape...))
				}
				return n.Forward(images, lookup)
			}, tensors.FromFlatDataAndDimensions(slices.Clone(images), 1, shape.Height, shape.Width, shape.Channels))
			if err != nil {
				t.Fatal(err)
			}
			logits := tensors.MustCopyFlatData[float64](got)
			for k, want := range c.want(weights, activation{shape, images}) {
				if math.Abs(logits[k]-want) > 1e-9*(1+math.Abs(want)) {
					t.Errorf("logit %d is %.12g, want %.12g", k, logits[k], want)
				}
			}
		})
	}
}
