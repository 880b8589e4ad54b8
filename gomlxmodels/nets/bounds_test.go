package nets_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	. "github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// The gradients of a loss of bounds, with respect to images, ε and all tensors, against central differences in float64, on both backends.
func TestBoundGradients(t *testing.T) {
	for _, c := range []struct {
		Architecture
		engines []string
	}{
		{Architecture{Name: "resnet8", Shape: pixel.Shape{Height: 4, Width: 4, Channels: 3}, Classes: 3, Width: 0.5, Input: "standardize"}, []string{"go"}},
		{Architecture{Name: "l", Shape: pixel.Shape{Height: 3, Width: 4, Channels: 2}, Classes: 3, Width: 1. / 64}, []string{"go", "xla"}},
		{Architecture{Name: "l", Shape: pixel.Shape{Height: 5, Width: 4, Channels: 1}, Classes: 3, Width: 1. / 64, Posterior: ProoD, Shift: 3}, []string{"go"}},
		{Architecture{Name: "l", Shape: pixel.Shape{Height: 3, Width: 2, Channels: 1}, Classes: 3, Width: 1. / 64, Posterior: CCU}, []string{"go"}},
	} {
		for _, engine := range c.engines {
			t.Run(c.Name+"/"+engine, func(t *testing.T) {
				n := randomNetwork(c.Architecture, 3)
				images := n.batch(2, 4)
				total := func(in []*Node) *Node {
					lookup := func(name string) *Node {
						return in[2+slices.IndexFunc(n.list, func(t Tensor) bool { return t.Name == name })]
					}
					centre, radius := netgraph.Ball(in[0], in[1], false)
					return ReduceAllSum(outlierloss.UpperBound(outlierloss.Widest(n.Differences(centre, radius, lookup))))
				}
				exec, err := NewExec(engines.Backend(t, engine).Backend, func(in []*Node) []*Node {
					l := total(in)
					return append([]*Node{l}, Gradient(l, in...)...)
				})
				if err != nil {
					t.Fatal(err)
				}
				defer exec.Finalize()
				epsilon := []float64{0.03}
				values := append([][]float64{images, epsilon}, n.values...)
				run := func() []*tensors.Tensor {
					args := []any{tensors.FromFlatDataAndDimensions(images, 2, c.Shape.Height, c.Shape.Width, c.Shape.Channels), tensors.FromScalar(epsilon[0])}
					for i, info := range n.list {
						args = append(args, tensors.FromFlatDataAndDimensions(n.values[i], info.Shape...))
					}
					out, err := exec.Call(args...)
					if err != nil {
						t.Fatal(err)
					}
					return out
				}
				found := run()[1:]
				for k, v := range values {
					name := append([]string{"images", "epsilon"}, names(n.list)...)[k]
					gradient, scale := tensors.MustCopyFlatData[float64](found[k]), 1e-2
					for _, g := range gradient {
						scale = max(scale, math.Abs(g))
					}
					for i := 0; i < len(v); i += max(1, len(v)/2) {
						const h = 1e-6
						old := v[i]
						v[i] = old + h
						up := tensors.ToScalar[float64](run()[0])
						v[i] = old - h
						down := tensors.ToScalar[float64](run()[0])
						v[i] = old
						if want := (up - down) / (2 * h); math.Abs(gradient[i]-want) > 1e-5*scale {
							t.Errorf("d/d %s[%d] = %.9g; central difference %.9g", name, i, gradient[i], want)
						}
					}
				}
			})
		}
	}
}

func names(list []Tensor) (all []string) {
	for _, t := range list {
		all = append(all, t.Name)
	}
	return all
}

// Numbers of parameters of L and XL as the paper's table 2 gives their layers, counted by hand.
func TestPlainParameters(t *testing.T) {
	both := Architecture{Name: "resnet8", Shape: cifar, Classes: 10, Posterior: ProoD}
	if got := both.Parameters() - (Architecture{Name: "resnet8", Shape: cifar, Classes: 10}).Parameters(); got != 2986241 {
		t.Errorf("a discriminator of %d parameters, want 2,986,241", got)
	}
	for _, c := range []struct {
		name  string
		shape pixel.Shape
		width float64
		want  int
	}{
		{"l", pixel.Shape{Height: 28, Width: 28, Channels: 1}, 0, 13257290},
		{"xl", cifar, 0, 35449226},
		{"l", pixel.Shape{Height: 28, Width: 28, Channels: 1}, 0.125, 80 + 584 + 1168 + 2*2320 + (16*14*14+1)*64 + 650},
	} {
		a := Architecture{Name: c.name, Shape: c.shape, Classes: 10, Width: c.width}
		if got := a.Parameters(); got != c.want {
			t.Errorf("%s at width %v: %d parameters, want %d", c.name, c.width, got, c.want)
		}
		for _, tensor := range a.Tensors() {
			fan := tensor.Shape
			if len(fan) == 1 || c.width == 0 {
				continue
			}
			inputs := 1
			for _, d := range fan[:len(fan)-1] {
				inputs *= d
			}
			most := 0.0
			for _, v := range tensor.Initialize(1) {
				most = max(most, math.Abs(float64(v)))
			}
			if bound := 1 / math.Sqrt(float64(inputs)); most > bound || most < 0.9*bound {
				t.Errorf("%s: weights of up to %v; expected uniform ones up to %v", tensor.Name, most, bound)
			}
		}
	}
}

// With the initialisation for bounds the mean width of intervals behind each ReLU is the part that zero padding
// leaves of the width before, on average over seeds; with the network's own it grows.
func TestInitialIBP(t *testing.T) {
	a := Architecture{Name: "l", Shape: pixel.Shape{Height: 10, Width: 10, Channels: 1}, Classes: 3, Width: 0.125}
	list, layers := a.Tensors(), []string{"conv1/relu", "conv2/relu", "conv3/relu", "conv4/relu", "conv5/relu", "dense1/relu"}
	exec := MustNewExec(engines.Backend(t, "go").Backend, func(in []*Node) (widths []*Node) {
		lookup := func(name string) *Node {
			return in[1+slices.IndexFunc(list, func(t Tensor) bool { return t.Name == name })]
		}
		radius := AddScalar(ZerosLike(in[0]), 0.1)
		for _, l := range layers {
			lower, upper := netgraph.Network{Architecture: a}.Intervals(l, in[0], radius, lookup)
			widths = append(widths, ReduceAllMean(Sub(upper, lower)))
		}
		return widths
	})
	defer exec.Finalize()
	image := make([]float32, a.Shape.Len())
	for i := range image {
		image[i] = float32(i*37%100) / 100
	}
	const seeds = 60
	mean := func(initial Initial) []float64 {
		total := make([]float64, len(layers))
		for seed := range seeds {
			args := []any{tensors.FromFlatDataAndDimensions(image, 1, 10, 10, 1)}
			for _, info := range list {
				args = append(args, tensors.FromFlatDataAndDimensions(info.As(initial).Initialize(uint64(seed)), info.Shape...))
			}
			out, err := exec.Call(args...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range total {
				total[i] += float64(tensors.ToScalar[float32](out[i])) / seeds
			}
		}
		return total
	}
	// In expectation a convolution and its ReLU take the mean over 3×3 places, those outside being 0.
	side, width := 10, slices.Repeat([]float64{0.2}, 100)
	expected := func(layer int) (mean float64) {
		step := 1
		if layer == 2 {
			step = 2
		}
		next, n := []float64{}, (side-1)/step+1
		for y := range n {
			for x := range n {
				sum := 0.
				for i := step*y - 1; i <= step*y+1; i++ {
					for j := step*x - 1; j <= step*x+1; j++ {
						if i >= 0 && j >= 0 && i < side && j < side {
							sum += width[i*side+j] / 9
						}
					}
				}
				next = append(next, sum)
				mean += sum / float64(n*n)
			}
		}
		side, width = n, next
		return mean
	}
	got, own, want := mean(InitialIBP), mean("own"), 0.
	for i, l := range layers {
		if i < 5 {
			want = expected(i) // a dense layer keeps the mean
		}
		if math.Abs(got[i]/want-1) > 0.15 {
			t.Errorf("%s: intervals of mean width %v, want %v", l, got[i], want)
		}
	}
	if own[5] < 20*got[5] {
		t.Errorf("of the network's own initialisation %v, next to %v", own, got)
	}
	for _, info := range list {
		kernel, sum := len(info.Shape) > 1, 0.
		for _, v := range info.As(InitialIBP).Initialize(1) {
			sum += math.Abs(float64(v))
		}
		if inputs := info.Size() / info.Shape[len(info.Shape)-1]; kernel && math.Abs(sum/float64(info.Size())*float64(inputs)/2-1) > 0.2 || !kernel && sum != 0 {
			t.Errorf("%s: values of mean size %v", info.Name, sum/float64(info.Size()))
		}
	}
}
