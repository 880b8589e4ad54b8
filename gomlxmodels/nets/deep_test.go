package nets_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	. "github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// wavy are values of a tensor such that no term of a sum vanishes.
func wavy(tensor Tensor) []float64 {
	values := make([]float64, tensor.Size())
	for i, v := range tensor.Initialize(2) {
		values[i] = float64(v) + 0.1*math.Sin(float64(7*i+len(tensor.Name)))
		if strings.HasSuffix(tensor.Name, "/variance") {
			values[i] += 0.5
		}
	}
	return values
}

// The networks for larger images, much narrower than they are: gradients against central differences, and one backend
// against the other.
func TestDeepNetworks(t *testing.T) {
	shape := pixel.Shape{Height: 11, Width: 14, Channels: 2}
	for name, deep := range map[string]Network{
		"resnet50":        Bottlenecks("narrow-resnet50", 4, 1, 2),
		"preact-resnet18": PreActivations("narrow-preact-resnet18", 4, 1, 2),
	} {
		Register(deep)
		a := Architecture{Name: deep.Name(), Shape: shape, Classes: 3}
		n := &network{Network: netgraph.Network{Architecture: a}, list: a.Tensors()}
		for _, tensor := range n.list {
			n.values = append(n.values, wavy(tensor))
		}
		images := n.batch(3, 5)
		for _, training := range []bool{false, true} {
			compile := func(t *testing.T, choice string) (run func() (loss float64, gradients [][]float64)) {
				b := engines.Backend(t, choice)
				exec, err := NewExec(b.Backend, func(in []*Node) []*Node {
					lookup := func(name string) *Node {
						return in[1+slices.IndexFunc(n.list, func(t Tensor) bool { return t.Name == name })]
					}
					wanted := []*Node{in[0]}
					for i, tensor := range n.list {
						if !tensor.Running {
							wanted = append(wanted, in[1+i])
						}
					}
					logits := n.Forward(in[0], lookup)
					if training {
						logits, _ = n.ForwardTraining(in[0], lookup)
					}
					loss := weighted(logits)
					return append([]*Node{loss}, Gradient(loss, wanted...)...)
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(exec.Finalize)
				return func() (float64, [][]float64) {
					args := []any{tensors.FromFlatDataAndDimensions(slices.Clone(images), 3, shape.Height, shape.Width, shape.Channels)}
					for i, info := range n.list {
						args = append(args, tensors.FromFlatDataAndDimensions(slices.Clone(n.values[i]), info.Shape...))
					}
					out, err := exec.Call(args...)
					if err != nil {
						t.Fatal(err)
					}
					var gradients [][]float64
					for _, g := range out[1:] {
						gradients = append(gradients, tensors.MustCopyFlatData[float64](g))
					}
					return tensors.ToScalar[float64](out[0]), gradients
				}
			}
			run := compile(t, "go")
			_, gradients := run()
			check := func(what string, values, gradient []float64, i int) {
				t.Helper()
				const h = 1e-5
				old := values[i]
				values[i] = old + h
				up, _ := run()
				values[i] = old - h
				down, _ := run()
				values[i] = old
				if want := (up - down) / (2 * h); math.Abs(gradient[i]-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("%s, training %v: d/d %s[%d] = %.9g; central difference %.9g", name, training, what, i, gradient[i], want)
				}
			}
			check("images", images, gradients[0], 7)
			k := 1
			for i, tensor := range n.list {
				if tensor.Running {
					continue
				}
				if strings.Contains(tensor.Name, "conv") && !strings.Contains(tensor.Name, "block1") {
					check(tensor.Name, n.values[i], gradients[k], tensor.Size()/2)
				}
				k++
			}
			missing := func(choice string, run func() (float64, [][]float64)) {
				t.Helper()
				old := images[0]
				images[0] = math.NaN()
				if loss, _ := run(); loss == loss {
					t.Errorf("%s on %s, training %v: a NaN in an image gives %g", name, choice, training, loss)
				}
				images[0] = old
			}
			missing("go", run)
			t.Run("xla", func(t *testing.T) {
				run := compile(t, "xla")
				_, others := run()
				missing("xla", run)
				for k := range gradients {
					for i, want := range gradients[k] {
						if math.Abs(others[k][i]-want) > 1e-9*(1+math.Abs(want)) {
							t.Fatalf("%s, training %v: gradient %d[%d] is %g on XLA, %g on Go", name, training, k, i, others[k][i], want)
						}
					}
				}
			})
		}
	}
}
