package outlierloss

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// Values by hand: of the logits (1, 2, 4) at ε = 0, L = ln(1 + 3²/2) = ln 5.5; of equal logits all losses at their minimum, without a
// gradient; of U of the network worked out in the paper's notation, v = 0.7, L = ln 1.245 = 0.219136 and dL/dv = 0.562249.
func TestOutlierValues(t *testing.T) {
	engines.OnBackends(t, func(t *testing.T, b *backend.Backend) {
		run := func(f func(x *Node) *Node, dims []int, values ...float64) (y, gradient []float64) {
			t.Helper()
			exec := MustNewExec(b.Backend, func(x *Node) []*Node {
				y := f(x)
				return []*Node{y, Gradient(ReduceAllSum(y), x)[0]}
			})
			defer exec.Finalize()
			out, err := exec.Call(tensors.FromFlatDataAndDimensions(values, dims...))
			if err != nil {
				t.Fatal(err)
			}
			return tensors.MustCopyFlatData[float64](out[0]), tensors.MustCopyFlatData[float64](out[1])
		}
		near := func(name string, got []float64, want ...float64) {
			t.Helper()
			if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 5e-7 }) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		point := func(z *Node) *Node { return UpperBound(Span(z)) }
		bound := func(u *Node) *Node { return UpperBound(Widest(u)) }
		y, g := run(point, []int{2, 3}, 1, 2, 4, 5, 5, 5)
		near("upper bound of points", y, 1.704748, 0)
		near("its gradient", g, -3/5.5, 0, 3/5.5, 0, 0, 0)
		y, g = run(bound, []int{1, 3, 3}, 0, 0.2, -0.1, 0.2, 0, -0.3, 0.7, 0.5, 0)
		near("upper bound", y, 0.219136)
		near("its gradient", g, 0, 0, 0, 0, 0, 0, 0.562249, 0, 0)
		y, _ = run(LogConfidence, []int{2, 2}, 3, 3, 0, math.Log(3))
		near("log-confidence", y, -math.Ln2, math.Log(0.75))
		y, g = run(Uniform, []int{2, 2}, 3, 3, 0, math.Log(3))
		near("uniform", y, math.Ln2, -(math.Log(0.25)+math.Log(0.75))/2)
		near("its gradient", g, 0, 0, -0.25, 0.25)
		// Of equal pairs one has the gradient.
		_, g = run(bound, []int{1, 2, 2}, 0, 2, 2, 0)
		near("gradient of equal pairs", g, 0, 2./3, 0, 0)
	})
}

// m of 128 by the quantiles of the paper, the smallest ones, of equal ones the first; against a sort.
func TestSmallest(t *testing.T) {
	engines.OnBackends(t, func(t *testing.T, b *backend.Backend) {
		values := make([]float32, 128)
		for i := range values {
			values[i] = float32(i * 37 % 19)
		}
		places := make([]int, len(values))
		for i := range places {
			places[i] = i
		}
		slices.SortStableFunc(places, func(i, j int) int { return int(values[i] - values[j]) })
		for quantile, m := range map[int]int{0: 0, 20: 25, 40: 51, 60: 76, 80: 102, 90: 115, 95: 121, 100: 128} {
			exec := MustNewExec(b.Backend, func(v *Node) *Node { return Smallest(v, 128*quantile/100) })
			out, err := exec.Call(values)
			if err != nil {
				t.Fatal(err)
			}
			got, want := tensors.MustCopyFlatData[bool](out[0]), make([]bool, len(values))
			for _, i := range places[:m] {
				want[i] = true
			}
			if !slices.Equal(got, want) {
				t.Errorf("quantile %d: %v, want %v", quantile, got, want)
			}
			exec.Finalize()
		}
	})
}
