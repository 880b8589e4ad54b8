package loss

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// The tests are about formulas: XLA's compiler, which takes nearly all of their time, needs half of it without optimizing.
func TestMain(m *testing.M) {
	os.Setenv("XLA_FLAGS", strings.TrimSpace(os.Getenv("XLA_FLAGS")+" --xla_backend_optimization_level=0"))
	os.Exit(m.Run())
}

// a case is a loss of logits of some leading axes, its terms one after the other in the output.
type lossCase struct {
	name string
	dims []int // of the logits
	loss func(logits, labels *Node) []Term
}

var cases = []lossCase{
	{"cross-entropy", []int{3, 4}, func(z, y *Node) []Term { return []Term{{"", CrossEntropy(z, y)}} }},
	{"cross-entropy of copies", []int{2, 3, 4}, func(z, y *Node) []Term { return []Term{{"", CrossEntropy(z, y)}} }},
	{"consistency", []int{3, 3, 4}, func(z, y *Node) []Term { return Consistency(z, y, 20, 0.5) }},
	{"jsd", []int{3, 3, 4}, func(z, y *Node) []Term { return JSD(z, y, 12) }},
	{"hcr", []int{3, 2, 3, 4}, func(z, y *Node) []Term { return HCR(z, y, 40, 10, false) }},
	{"hcr, reverse", []int{3, 2, 3, 4}, func(z, y *Node) []Term { return HCR(z, y, 40, 10, true) }},
	{"macer", []int{5, 3, 4}, func(z, y *Node) []Term { return MACER(z, y, 0.25, 12, 8, 2) }},
	{"calibration", []int{2, 3, 4}, func(z, y *Node) []Term {
		a := Const(z.Graph(), [][]float64{{0.2, 0.8}, {0.7, 0.4}, {-0.1, 1}})
		return []Term{{"", Calibration(z, y, Const(z.Graph(), []int32{1, 0, 3}), ConvertDType(a, z.DType()))}}
	}},
	{"entropy", []int{3, 4}, func(z, _ *Node) []Term { return []Term{{"", Entropy(z)}} }},
	{"log-confidence", []int{3, 4}, func(z, _ *Node) []Term { return []Term{{"", ReduceAllSum(outlierloss.LogConfidence(z))}} }},
	{"uniform", []int{3, 4}, func(z, _ *Node) []Term { return []Term{{"", ReduceAllSum(outlierloss.Uniform(z))}} }},
	{"upper bound", []int{3, 4}, func(z, _ *Node) []Term {
		return []Term{{"", outlierloss.Share(outlierloss.UpperBound(outlierloss.Span(z)), outlierloss.Smallest(outlierloss.Span(z), 2))}}
	}},
	{"widest", []int{3, 4}, func(z, _ *Node) []Term {
		return []Term{{"", ReduceAllMean(outlierloss.UpperBound(outlierloss.Widest(Reshape(z, 3, 2, 2))))}}
	}},
	// The first half of the noise samples are clean, the second attacked or mixed. With these draws k is 1, 2 and 3 of 3.
	{"cat-rs", []int{6, 3, 4}, func(z, y *Node) []Term {
		soft := Const(z.Graph(), [][]float64{{.7, .1, .2, 0}, {0, 0, 1, 0}, {.25, .25, .25, .25}})
		draws := Const(z.Graph(), [][]float64{{.1, .2, .3}, {.1, .2, .3}, {0, 0, .99}})
		return CATRS(Slice(z, AxisRange(0, 3)), Slice(z, AxisRange(3, 6)), y, soft, draws, 0.5)
	}},
	{"smoothmix", []int{4, 3, 4}, func(z, y *Node) []Term {
		return SmoothMix(Slice(z, AxisRange(0, 2)), Slice(z, AxisRange(2, 4)), y, Const(z.Graph(), []float64{.1, .5, 0.3}))
	}},
	{"confidence", []int{2, 3, 4}, func(z, y *Node) []Term {
		logZ, _ := Confidence(z, y)
		return []Term{{"", ReduceAllSum(logZ)}}
	}},
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// labels of the cases: for the logits below, MACER counts some images and leaves others out.
var labels = []int32{0, 2, 1}

func logits(dims []int) []float64 {
	random := rand.New(rand.NewPCG(7, uint64(len(dims))))
	z := make([]float64, size(dims))
	k := dims[len(dims)-1]
	for i := range z {
		z[i] = random.NormFloat64()
		if row := i / k % len(labels); row < 2 && i%k == int(labels[row]) {
			z[i] += 1.5 // two images are classified right
		}
	}
	return z
}

// together gives a function from the logits of several cases to their losses' terms and gradients, in the number format T: one
// graph, as compiling costs more than all calls.
func together[T float32 | float64](t *testing.T, b *backend.Backend, cs []lossCase) func(z [][]float64) (terms, gradients [][]float64) {
	t.Helper()
	var counts []int // of each case's terms
	exec, err := NewExec(b.Backend, func(in []*Node) []*Node {
		var out []*Node
		counts = nil
		for i, c := range cs {
			z, total := in[1+i], ScalarZero(in[0].Graph(), in[1+i].DType())
			list := c.loss(z, Slice(in[0], AxisRange(0, c.dims[len(c.dims)-2])))
			for _, term := range list {
				out = append(out, term.Value)
				total = Add(total, term.Value)
			}
			out = append(out, Gradient(total, z)[0])
			counts = append(counts, len(list))
		}
		return out
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(exec.Finalize)
	return func(z [][]float64) (terms, gradients [][]float64) {
		args := []any{labels}
		for i, c := range cs {
			values := make([]T, len(z[i]))
			for j, v := range z[i] {
				values[j] = T(v)
			}
			args = append(args, tensors.FromFlatDataAndDimensions(values, c.dims...))
		}
		outputs, err := exec.Call(args...)
		if err != nil {
			t.Fatal(err)
		}
		next := func() (values []float64) {
			for _, v := range tensors.MustCopyFlatData[T](outputs[0]) {
				values = append(values, float64(v))
			}
			outputs = outputs[1:]
			return values
		}
		for _, n := range counts {
			var list []float64
			for range n {
				list = append(list, next()...)
			}
			terms, gradients = append(terms, list), append(gradients, next())
		}
		return terms, gradients
	}
}

// compile is together for one case.
func compile[T float32 | float64](t *testing.T, b *backend.Backend, c lossCase) func(z []float64) (terms, gradient []float64) {
	t.Helper()
	run := together[T](t, b, []lossCase{c})
	return func(z []float64) (terms, gradient []float64) {
		all, gradients := run([][]float64{z})
		return all[0], gradients[0]
	}
}

func sum(v []float64) (total float64) {
	for _, x := range v {
		total += x
	}
	return total
}

// Every gradient against central differences in float64, on both backends, and in float32 against float64; for logits
// far apart loss and gradient stay finite in float32.
func TestGradients(t *testing.T) {
	const h = 1e-5
	engines.OnBackends(t, func(t *testing.T, b *backend.Backend) {
		double, single := together[float64](t, b, cases), together[float32](t, b, cases)
		var z [][]float64
		longest := 0
		for _, c := range cases {
			z = append(z, logits(c.dims))
			longest = max(longest, len(z[len(z)-1]))
		}
		_, gradients := double(z)
		_, inSingle := single(z)
		// at gives the losses where value i of each case's logits is moved by d.
		at := func(i int, d float64) (losses []float64) {
			moved := make([][]float64, len(z))
			for k := range z {
				moved[k] = slices.Clone(z[k])
				if i < len(z[k]) {
					moved[k][i] += d
				}
			}
			terms, _ := double(moved)
			for _, list := range terms {
				losses = append(losses, sum(list))
			}
			return losses
		}
		norm, off, offSingle := make([]float64, len(z)), make([]float64, len(z)), make([]float64, len(z))
		for i := range longest {
			up, down := at(i, h), at(i, -h)
			for k := range z {
				if i >= len(z[k]) {
					continue
				}
				want := (up[k] - down[k]) / (2 * h)
				norm[k] += want * want
				off[k] += (gradients[k][i] - want) * (gradients[k][i] - want)
				offSingle[k] += (inSingle[k][i] - gradients[k][i]) * (inSingle[k][i] - gradients[k][i])
			}
		}
		for k, c := range cases {
			if norm[k] == 0 {
				t.Errorf("%s: no gradient at all", c.name)
			}
			if !(math.Sqrt(off[k]) <= 1e-7*math.Sqrt(norm[k])) {
				t.Errorf("%s: relative error %g of the gradient", c.name, math.Sqrt(off[k]/norm[k]))
			}
			if !(math.Sqrt(offSingle[k]) <= 1e-4*math.Sqrt(norm[k])) {
				t.Errorf("%s: relative error %g of the gradient in float32", c.name, math.Sqrt(offSingle[k]/norm[k]))
			}
			for i := range z[k] {
				z[k][i] *= 300
			}
		}
		terms, far := single(z)
		for k, c := range cases {
			for _, v := range append(terms[k], far[k]...) {
				if v-v != 0 {
					t.Errorf("%s: %v among the loss and its gradient for logits far apart", c.name, v)
					break
				}
			}
		}
	})
}

// logOf gives logits of two classes whose softmax is (p, 1−p).
func logOf(p ...float64) (z []float64) {
	for _, v := range p {
		z = append(z, math.Log(v)+0.3, math.Log(1-v)+0.3)
	}
	return z
}

// The numbers of the literature's formulas, worked out by hand for two classes and label 0.
func TestKnownValues(t *testing.T) {
	engines.OnBackends(t, func(t *testing.T, b *backend.Backend) {
		for _, c := range []struct {
			lossCase
			z    []float64
			want []float64
		}{
			{lossCase{"hcr", []int{3, 2, 1, 2}, cases[4].loss}, logOf(.9, .7, .6, .8, .5, .3),
				[]float64{.2310177297, 40. / 3 * (.0656647202 + .0098572124 + .1116729590), 10. / 3 * (.0324287858 + .0241572568 + .0210059257)}},
			{lossCase{"hcr, reverse", []int{3, 2, 1, 2}, cases[5].loss}, logOf(.9, .7, .6, .8, .5, .3),
				[]float64{.2310177297, 40. / 3 * (.0656647202 + .0098572124 + .1116729590), 2.7669676359 - 40./3*(.0656647202+.0098572124+.1116729590)}},
			{lossCase{"consistency", []int{2, 1, 2}, cases[2].loss}, logOf(.9, .5),
				[]float64{-(math.Log(.9) + math.Log(.5)) / 2, 20 * .1179732327, .5 * .6108643021}},
			{lossCase{"jsd", []int{3, 1, 2}, cases[3].loss}, logOf(.9, .6, .3), []float64{-math.Log(.9), 1.6403042343}},
			{lossCase{"jsd of a pair", []int{2, 1, 2}, func(z, y *Node) []Term { return JSD(z, y, 1) }}, logOf(.9, .5), []float64{-math.Log(.9), .1017492251}},
			{lossCase{"macer", []int{2, 1, 3}, func(z, y *Node) []Term { return MACER(z, y, .25, 12, 8, 16) }},
				[]float64{.30, .25, .10, .20, .22, .05}, []float64{1.0382766772, 12 * .9659116835}},
			// The smoothed confidence of class 1 is (.1 + .5)/2, and the label is 0.
			{lossCase{"calibration", []int{2, 1, 2}, func(z, y *Node) []Term {
				return []Term{{"", Calibration(z, y, Const(z.Graph(), []int32{1}), Const(z.Graph(), [][]float64{{.2, .5}}))}}
			}}, logOf(.9, .5), []float64{.3*.2 + .3*.5}},
		} {
			terms, _ := compile[float64](t, b, c.lossCase)(c.z)
			for i, want := range c.want {
				if !(math.Abs(terms[i]-want) <= 2e-8) {
					t.Errorf("%s, term %d: %.10f, want %.10f", c.name, i, terms[i], want)
				}
			}
		}
	})
}

// Where all predictions agree, the regularisers and their gradients vanish; their largest values are log s and log v; and
// neither the order of noises nor the order of the augmented views matters.
func TestHCRBounds(t *testing.T) {
	b := engines.Backend(t, "go")
	hcr := lossCase{"hcr", []int{3, 2, 1, 4}, func(z, y *Node) []Term { return HCR(z, y, 1, 1, false)[1:] }}
	one := []float64{0.3, -1, 2, 0.1}
	var equal []float64
	for range 6 {
		equal = append(equal, one...)
	}
	run := compile[float64](t, b, hcr)
	terms, gradient := run(equal)
	for _, v := range append(terms, gradient...) {
		if math.Abs(v) > 1e-12 {
			t.Errorf("%g where all predictions are equal", v)
		}
	}
	extreme := make([]float64, 24) // the noises of a view in two classes, and views apart
	for row := range 6 {
		extreme[4*row+row%2] = 60
	}
	if terms, _ := run(extreme); math.Abs(terms[1]-math.Log(2)) > 1e-9 {
		t.Errorf("divergence between opposite noises %g, want log 2", terms[1])
	}
	for row := range 6 {
		clear(extreme[4*row : 4*row+4])
		extreme[4*row+row/2] = 60
	}
	if terms, _ := run(extreme); math.Abs(terms[0]-math.Log(3)) > 1e-9 {
		t.Errorf("divergence between opposite views %g, want log 3", terms[0])
	}
	z := logits(hcr.dims)
	before, _ := run(z)
	swapped := append(append(append([]float64(nil), z[4:8]...), z[:4]...), append(append([]float64(nil), z[16:]...), z[8:16]...)...)
	after, _ := run(swapped)
	for i := range before {
		if math.Abs(before[i]-after[i]) > 1e-14 {
			t.Errorf("term %d is %g, and %g in another order", i, before[i], after[i])
		}
	}
}

// Φ⁻¹ against the inverse of the error function in the standard library.
func TestNormalQuantile(t *testing.T) {
	var q []float64
	for _, tail := range []float64{1e-300, 1e-40, 1e-14, 1e-12, 1e-5, 0.01, 0.0749, 0.0751, 0.2, 0.4, 0.5} {
		q = append(q, tail)
		if tail >= 1e-12 {
			q = append(q, 1-tail)
		}
	}
	engines.OnBackends(t, func(t *testing.T, b *backend.Backend) {
		out, err := CallOnce(b.Backend, normalQuantile, append(q, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		got := tensors.MustCopyFlatData[float64](out)
		for i, p := range q {
			// Φ(x) of the answer, by the tail that is small.
			x := got[i]
			back, want := math.Erfc(-x/math.Sqrt2)/2, p
			if p > 0.5 {
				back, want = math.Erfc(x/math.Sqrt2)/2, 1-p
			}
			if !(math.Abs(back-want) <= 1e-11*want) {
				t.Errorf("Φ⁻¹(%g) = %g, of which Φ is %g", p, x, back)
			}
		}
		if !math.IsInf(got[len(q)], -1) || !math.IsInf(got[len(q)+1], 1) {
			t.Errorf("Φ⁻¹ of 0 and 1: %v", got[len(q):])
		}
	})
}
