package nets_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	. "github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

var cifar = pixel.Shape{Height: 32, Width: 32, Channels: 3}

// network is a network with random weights, so that no term of a gradient vanishes.
type network struct {
	netgraph.Network
	list   []Tensor
	values [][]float64
}

func randomNetwork(a Architecture, seed uint64) *network {
	n := &network{Network: netgraph.Network{Architecture: a}, list: a.Tensors()}
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
func call[T float32 | float64](t *testing.T, b *backend.Backend, n *network, images []float64, f func(images *Node, lookup netgraph.Lookup, all []*Node) []*Node) [][]float64 {
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

func lossAndGradients(training bool, n *network) func(images *Node, lookup netgraph.Lookup, all []*Node) []*Node {
	return func(images *Node, lookup netgraph.Lookup, all []*Node) []*Node {
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
	{Name: "resnet8", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 4, Input: "standardize"},
	{Name: "conv8", Shape: pixel.Shape{Height: 9, Width: 6, Channels: 2}, Classes: 3, Width: 1. / 16},
	{Name: "resnet8", Shape: pixel.Shape{Height: 8, Width: 4, Channels: 3}, Classes: 2, Input: "imagenet", Denoiser: 2},
}

// The gradients of whole networks, and so of every layer, against central differences in float64.
func TestGradients(t *testing.T) {
	goBackend := engines.Backend(t, "go")
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
					for i := 0; i < len(values); i += max(1, len(values)/2) {
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
	xla, goBackend := engines.Backend(t, "xla"), engines.Backend(t, "go")
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

// ResNet-110, ResNet-20 and ResNet-50: parameter counts as published with the smoothing literature's
// networks; that of PreAct-ResNet-18 by hand: 1,728 + 147,968 + 525,184 + 2,098,944 + 8,392,192 + 1,024 + 5,130. The others by the closed form 464 + Σ blocks + 65·K, where a block of c channels
// has 2·9·c² + 4·c, and the two that widen from c/2 have 9·c²/2 less and a shortcut of
// c²/2 + 2·c more.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		net     string
		classes int
		want    int
	}{{"resnet110", 10, 1730714}, {"resnet110", 100, 1736564}, {"resnet20", 10, 272474}, {"resnet50", 1000, 25557032}, {"preact-resnet18", 10, 11172170}, {"xl", 10, 35449226},
		// From the released code of Fridovich-Keil et al. 2022, counted by PyTorch.
		{"conv8", 10, 5275840}, {"resnet18", 10, 11173962}, {"resnet18-unbiased", 10, 11173952}, {"vgg16", 10, 14728266}, {"vgg16-unbiased", 10, 14724032}} {
		a := Architecture{Name: c.net, Shape: cifar, Classes: c.classes}
		if got := a.Parameters(); got != c.want {
			t.Errorf("%s, %d classes: %d parameters, want %d", c.net, c.classes, got, c.want)
		}
	}
	for net, n := range map[string]int{"resnet8": 1, "resnet32": 5, "resnet56": 9} {
		want := 3*9*16 + 2*16 + 65*10
		for _, c := range []int{16, 32, 64} {
			want += n * (2*9*c*c + 4*c)
			if c > 16 {
				want += -9*c*c/2 + c*c/2 + 2*c
			}
		}
		if got := (Architecture{Name: net, Shape: cifar, Classes: 10}).Parameters(); got != want {
			t.Errorf("%s: %d parameters, want %d", net, got, want)
		}
	}
	a := Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 10}
	if got, want := a.Parameters(), 9*16+9*16*32+9*32*64+2*(16+32+64)+(7*7*64+1)*10; got != want || got != 54778 {
		t.Errorf("%s: %d parameters, want %d", a.Name, got, want)
	}
}

// Tensor names are part of the model file: they must not change.
func TestTensorNames(t *testing.T) {
	var names []string
	for _, tensor := range (Architecture{Name: "resnet8", Shape: cifar, Classes: 10}).Tensors() {
		if !strings.Contains(tensor.Name, "bn") {
			names = append(names, fmt.Sprint(tensor.Name, tensor.Shape))
		}
	}
	want := []string{"conv/kernel[3 3 3 16]",
		"stage1/block0/conv1/kernel[3 3 16 16]", "stage1/block0/conv2/kernel[3 3 16 16]",
		"stage2/block0/conv1/kernel[3 3 16 32]", "stage2/block0/conv2/kernel[3 3 32 32]", "stage2/block0/shortcut/conv/kernel[1 1 16 32]",
		"stage3/block0/conv1/kernel[3 3 32 64]", "stage3/block0/conv2/kernel[3 3 64 64]", "stage3/block0/shortcut/conv/kernel[1 1 32 64]",
		"head/kernel[64 10]", "head/bias[10]"}
	if !slices.Equal(names, want) {
		t.Errorf("names %q\nwant  %q", names, want)
	}
}

func TestCheck(t *testing.T) {
	good := Architecture{Name: "resnet20", Shape: cifar, Classes: 10}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Architecture){
		"no network \"resnet21\"; there are small-cnn, resnet8": func(a *Architecture) { a.Name = "resnet21" },
		"image of 0×32×3":                          func(a *Architecture) { a.Shape.Height = 0 },
		"1 classes":                                func(a *Architecture) { a.Classes = 1 },
		"both sides must be multiples of 4":        func(a *Architecture) { a.Denoiser, a.Shape.Width = 8, 30 },
		"none beside a posterior":                  func(a *Architecture) { a.Denoiser, a.Posterior = 8, ProoD },
		"a denoiser of -1 channels":                func(a *Architecture) { a.Denoiser = -1 },
		"no input layer \"whiten":                  func(a *Architecture) { a.Input = "whiten" },
		"is for images of 3 channels, not 32×32×1": func(a *Architecture) { a.Input = "center"; a.Shape.Channels = 1 },
	} {
		a := good
		change(&a)
		if err := a.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// Deviation of a kernel against √(2/(k²·out)); at n values the sample deviation is within
// 5/√(2n) of it but for once in two million seeds.
func TestInitialize(t *testing.T) {
	for _, tensor := range (Architecture{Name: "resnet20", Shape: cifar, Classes: 10}).Tensors() {
		values := tensor.Initialize(7)
		var sum, squares float64
		for _, v := range values {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		n := float64(len(values))
		switch {
		case strings.HasSuffix(tensor.Name, "conv/kernel"), strings.Contains(tensor.Name, "/conv"):
			k, out := tensor.Shape[0], tensor.Shape[3]
			want := math.Sqrt(2 / float64(k*k*out))
			if got := math.Sqrt(squares / n); math.Abs(got/want-1) > 5/math.Sqrt(2*n) {
				t.Errorf("%s: deviation %g, want %g", tensor.Name, got, want)
			}
		case tensor.Name == "head/kernel":
			if got := math.Sqrt(squares / n); math.Abs(got*8*math.Sqrt(3)-1) > 0.1 || slices.Max(values) > 1./8 || slices.Min(values) < -1./8 {
				t.Errorf("%s: deviation %g of values uniform in ±1/8", tensor.Name, got)
			}
		case strings.HasSuffix(tensor.Name, "/scale"), strings.HasSuffix(tensor.Name, "/variance"):
			if sum != n || squares != n {
				t.Errorf("%s: not all 1", tensor.Name)
			}
		case strings.HasSuffix(tensor.Name, "/shift"), strings.HasSuffix(tensor.Name, "/mean"):
			if squares != 0 {
				t.Errorf("%s: not all 0", tensor.Name)
			}
		}
	}
}

// Running averages and the identity of the two forms: where the running averages are the
// batch's own (biased) statistics, evaluation and training give the same logits.
func TestAverages(t *testing.T) {
	b := engines.Backend(t, "go")
	n := randomNetwork(Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 7, Width: 6, Channels: 2}, Classes: 3}, 8)
	const images = 5
	batch := n.batch(images, 9)
	var names []string
	for _, tensor := range n.list {
		if tensor.Running {
			names = append(names, tensor.Name)
		}
	}
	train := func(in *Node, lookup netgraph.Lookup, _ []*Node) []*Node {
		logits, averages := n.ForwardTraining(in, lookup)
		out := []*Node{logits}
		for _, name := range names {
			out = append(out, averages[name])
		}
		return out
	}
	trained := call[float64](t, b, n, batch, train)
	pixels := map[string]float64{"bn1": 7 * 6, "bn2": 4 * 3, "bn3": 2 * 2}
	for k, name := range names {
		layer, kind, _ := strings.Cut(name, "/")
		values := n.values[slices.IndexFunc(n.list, func(t Tensor) bool { return t.Name == name })]
		for i := range values {
			statistic := (trained[1+k][i] - 0.9*values[i]) / 0.1
			if kind == "variance" {
				m := images * pixels[layer]
				statistic *= (m - 1) / m
			}
			values[i] = statistic
		}
	}
	evaluated := call[float64](t, b, n, batch, func(in *Node, lookup netgraph.Lookup, _ []*Node) []*Node { return []*Node{n.Forward(in, lookup)} })
	for i, want := range trained[0] {
		if math.Abs(evaluated[0][i]-want) > 1e-9 {
			t.Errorf("logit %d: %g in evaluation, %g in training", i, evaluated[0][i], want)
		}
	}
}

// A NaN in the weights or the image must reach the logits, or a broken network could certify.
func TestNaNReachesLogits(t *testing.T) {
	for _, choice := range []string{"go", "xla"} {
		t.Run(choice, func(t *testing.T) {
			b := engines.Backend(t, choice)
			for _, a := range small {
				forward := func(n *network, images []float64) []float64 {
					return call[float32](t, b, n, images, func(in *Node, lookup netgraph.Lookup, _ []*Node) []*Node { return []*Node{n.Forward(in, lookup)} })[0]
				}
				n := randomNetwork(a, 10)
				n.values[0][0] = math.NaN()
				for i, v := range forward(n, n.batch(2, 11)) {
					if v == v {
						t.Errorf("%s: logit %d is %g with a NaN in the first kernel", a.Name, i, v)
					}
				}
				n = randomNetwork(a, 10)
				images := n.batch(2, 11)
				images[0] = math.NaN()
				for i, v := range forward(n, images) {
					if first := i < a.Classes; first != (v != v) {
						t.Errorf("%s: logit %d is %g with a NaN in the first of two images", a.Name, i, v)
					}
				}
			}
		})
	}
}

// A U-Net of 16 channels by hand: kernels of 3×3 between 3, 16, 32 and 64 channels, 1×1 before each unfolding, biases. It
// begins as the identity, so that the network gives the logits of that without it.
func TestDenoiser(t *testing.T) {
	kernels := 3*16 + 16*16 + 16*32 + 32*32 + 32*64 + 2*64*64 + 32*32 + 16*16 + 16*3
	want := 9*kernels + 64*128 + 32*64 + (2*16 + 2*32 + 3*64 + 128 + 32 + 64 + 16 + 3)
	a := Architecture{Name: "resnet8", Shape: pixel.Shape{Height: 8, Width: 4, Channels: 3}, Classes: 3, Input: "center"}
	joined := a
	joined.Denoiser = 16
	if got := joined.Parameters() - a.Parameters(); got != want || want != 131443 {
		t.Errorf("%d parameters, want %d", got, want)
	}
	images := randomNetwork(a, 1).batch(2, 1)
	logits := func(a Architecture) []float64 {
		n := &network{Network: netgraph.Network{Architecture: a}, list: a.Tensors()}
		for _, info := range n.list {
			values := make([]float64, info.Size())
			for i, v := range info.Initialize(7) {
				values[i] = float64(v)
			}
			n.values = append(n.values, values)
		}
		return call[float64](t, engines.Backend(t, "go"), n, images, func(images *Node, lookup netgraph.Lookup, _ []*Node) []*Node {
			return []*Node{n.Forward(images, lookup)}
		})[0]
	}
	if with, without := logits(joined), logits(a); !slices.Equal(with, without) {
		t.Errorf("logits %v, without a denoiser %v", with, without)
	}
}
