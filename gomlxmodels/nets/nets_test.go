package nets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/pixel"
)

var cifar = pixel.Shape{Height: 32, Width: 32, Channels: 3}

func open(t *testing.T, choice string) *backend.Backend {
	t.Helper()
	b, err := backend.Open(choice)
	if err != nil {
		t.Skipf("no backend %q: %v", choice, err)
	}
	return b
}

// network is a network with random weights, so that no term of a gradient vanishes.
type network struct {
	Architecture
	list   []Tensor
	values [][]float64
}

func randomNetwork(a Architecture, seed uint64) *network {
	n := &network{Architecture: a, list: a.Tensors()}
	random := rand.New(rand.NewPCG(seed, 0))
	for _, t := range n.list {
		values := make([]float64, t.Size())
		for i, v := range t.Initialize(seed) {
			values[i] = float64(v) + 0.1*random.NormFloat64()
			if strings.HasSuffix(t.Name, "/variance") {
				values[i] = 0.5 + random.Float64()
			}
		}
		n.values = append(n.values, values)
	}
	return n
}

func (n *network) batch(size int, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	images := make([]float64, size*n.Shape.Len())
	for i := range images {
		images[i] = random.Float64() + 0.25*random.NormFloat64()
	}
	return images
}

func convert[T float32 | float64](values []float64) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = T(v)
	}
	return out
}

// call runs f on images and tensors of type T.
func call[T float32 | float64](t *testing.T, b *backend.Backend, n *network, images []float64, f func(images *Node, lookup Lookup, all []*Node) []*Node) [][]float64 {
	t.Helper()
	exec, err := NewExec(b.Backend, func(in []*Node) []*Node {
		lookup := func(name string) *Node {
			return in[1+slices.IndexFunc(n.list, func(t Tensor) bool { return t.Name == name })]
		}
		return f(in[0], lookup, in[1:])
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	args := []any{tensors.FromFlatDataAndDimensions(convert[T](images), len(images)/n.Shape.Len(), n.Shape.Height, n.Shape.Width, n.Shape.Channels)}
	for i, info := range n.list {
		args = append(args, tensors.FromFlatDataAndDimensions(convert[T](n.values[i]), info.Shape...))
	}
	outputs, err := exec.Call(args...)
	if err != nil {
		t.Fatal(err)
	}
	var result [][]float64
	for _, o := range outputs {
		values := make([]float64, o.Size())
		for i, v := range tensors.MustCopyFlatData[T](o) {
			values[i] = float64(v)
		}
		result = append(result, values)
	}
	return result
}

// weighted is a scalar that every logit enters with a weight of its own.
func weighted(logits *Node) *Node {
	weights := Cos(ConvertDType(Iota(logits.Graph(), logits.Shape(), 1), logits.DType()))
	weights = Add(weights, Sin(MulScalar(ConvertDType(Iota(logits.Graph(), logits.Shape(), 0), logits.DType()), 3)))
	return ReduceAllSum(Mul(weights, Tanh(logits)))
}

func lossAndGradients(training bool, n *network) func(images *Node, lookup Lookup, all []*Node) []*Node {
	return func(images *Node, lookup Lookup, all []*Node) []*Node {
		var logits *Node
		wanted := []*Node{images}
		if training {
			logits, _ = n.ForwardTraining(images, lookup)
			for i, t := range n.list {
				if !t.Running {
					wanted = append(wanted, all[i])
				}
			}
		} else {
			logits = n.Forward(images, lookup)
			for i := range n.list {
				wanted = append(wanted, all[i])
			}
		}
		loss := weighted(logits)
		return append([]*Node{loss}, Gradient(loss, wanted...)...)
	}
}

var small = []Architecture{
	{Name: "small-cnn", Shape: pixel.Shape{Height: 7, Width: 6, Channels: 2}, Classes: 3},
	{Name: "resnet8", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 4, Input: InputStandardize},
}

// The gradients of whole networks, and so of every layer, against central differences in float64.
func TestGradients(t *testing.T) {
	goBackend := open(t, "go")
	for _, a := range small {
		for _, training := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/training=%v", a.Name, training), func(t *testing.T) {
				n := randomNetwork(a, 3)
				images := n.batch(3, 4)
				found := call[float64](t, goBackend, n, images, lossAndGradients(training, n))
				exec, err := NewExec(goBackend.Backend, func(in []*Node) *Node {
					lookup := func(name string) *Node {
						return in[1+slices.IndexFunc(n.list, func(t Tensor) bool { return t.Name == name })]
					}
					if training {
						logits, _ := n.ForwardTraining(in[0], lookup)
						return weighted(logits)
					}
					return weighted(n.Forward(in[0], lookup))
				})
				if err != nil {
					t.Fatal(err)
				}
				defer exec.Finalize()
				loss := func() float64 {
					args := []any{tensors.FromFlatDataAndDimensions(images, 3, a.Shape.Height, a.Shape.Width, a.Shape.Channels)}
					for i, info := range n.list {
						args = append(args, tensors.FromFlatDataAndDimensions(n.values[i], info.Shape...))
					}
					out, err := exec.Call(args...)
					if err != nil {
						t.Fatal(err)
					}
					return tensors.ToScalar[float64](out[0])
				}
				check := func(name string, values, gradient []float64) {
					scale := 1e-3
					for _, g := range gradient {
						scale = max(scale, math.Abs(g))
					}
					for i := 0; i < len(values); i += max(1, len(values)/4) {
						const h = 1e-6
						old := values[i]
						values[i] = old + h
						up := loss()
						values[i] = old - h
						down := loss()
						values[i] = old
						if want := (up - down) / (2 * h); math.Abs(gradient[i]-want) > 2e-6*scale {
							t.Errorf("d/d %s[%d] = %.9g; central difference %.9g", name, i, gradient[i], want)
						}
					}
				}
				check("images", images, found[1])
				k := 2
				for i, info := range n.list {
					if training && info.Running {
						continue
					}
					check(info.Name, n.values[i], found[k])
					k++
				}
			})
		}
	}
}

// One definition on two backends: XLA's native convolutions in float32 against the Go
// backend's matrix products in float64, outputs and gradients.
func TestBackendsAgree(t *testing.T) {
	xla, goBackend := open(t, "xla"), open(t, "go")
	for _, a := range small {
		for _, training := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/training=%v", a.Name, training), func(t *testing.T) {
				n := randomNetwork(a, 5)
				images := n.batch(4, 6)
				want := call[float64](t, goBackend, n, images, lossAndGradients(training, n))
				got := call[float32](t, xla, n, images, lossAndGradients(training, n))
				for k := range want {
					scale := 1e-3
					for _, v := range want[k] {
						scale = max(scale, math.Abs(v))
					}
					for i := range want[k] {
						if d := math.Abs(got[k][i] - want[k][i]); !(d < 1e-4*scale) {
							t.Fatalf("output %d, value %d: %g on XLA, %g on Go", k, i, got[k][i], want[k][i])
						}
					}
				}
			})
		}
	}
}
