package graph

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/onnxfile"
)

// arithmetic is an operator on each value, of real and of whole numbers; ok is false where a whole result is not
// defined.
type arithmetic struct {
	real  func(x, y float64) float64
	whole func(x, y int64) (v int64, ok bool)
}

// exactly is arithmetic on whole numbers; where it is about 2⁶² and more in float64, it is refused.
func exactly(f func(x, y int64) int64, check func(x, y float64) float64) func(x, y int64) (int64, bool) {
	return func(x, y int64) (int64, bool) {
		return f(x, y), math.Abs(check(float64(x), float64(y))) < 0x1p62
	}
}

// arithmetics are the operators that folding evaluates value by value. They follow IEEE arithmetic in
// the type of the operands, the same in every engine. Of one operand, y is not used.
var arithmetics = map[string]arithmetic{
	"Add": {add, exactly(func(x, y int64) int64 { return x + y }, add)},
	"Sub": {subtract, exactly(func(x, y int64) int64 { return x - y }, subtract)},
	"Mul": {multiplied, exactly(func(x, y int64) int64 { return x * y }, multiplied)},
	"Div": {func(x, y float64) float64 { return x / y }, func(x, y int64) (int64, bool) {
		if y == 0 || x == math.MinInt64 {
			return 0, false
		}
		return x / y, true
	}},
	"Min": {func(x, y float64) float64 { return min(x, y) }, func(x, y int64) (int64, bool) { return min(x, y), true }},
	"Max": {func(x, y float64) float64 { return max(x, y) }, func(x, y int64) (int64, bool) { return max(x, y), true }},
	"Neg": {func(x, _ float64) float64 { return -x }, func(x, _ int64) (int64, bool) { return -x, true }},
	"Abs": {func(x, _ float64) float64 { return math.Abs(x) }, func(x, _ int64) (int64, bool) {
		return max(x, -x), true
	}},
	"Sqrt": {func(x, _ float64) float64 { return math.Sqrt(x) }, func(_, _ int64) (int64, bool) { return 0, false }},
	"Equal": {func(x, y float64) float64 { return truth(x == y) }, func(x, y int64) (int64, bool) {
		return int64(truth(x == y)), true
	}},
}

func add(x, y float64) float64        { return x + y }
func subtract(x, y float64) float64   { return x - y }
func multiplied(x, y float64) float64 { return x * y }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (f *folder) elementwise(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	kind := in[0].Kind
	for _, c := range in {
		if c.Kind != kind || kind == onnxfile.Bool {
			return nil, fmt.Sprintf("arithmetic on %v and %v", kind, c.Kind)
		}
	}
	all, dims, reason := f.together(in)
	if reason != "" {
		return nil, reason
	}
	out, first := all[0], all[0]
	// of one operand, itself in the place of a second
	for _, second := range append(all[1:], first)[:max(1, len(all)-1)] {
		if out, reason = arithmetics[n.Op].on(out, second, dims); reason != "" {
			return nil, reason
		}
	}
	if n.Op == "Equal" {
		return out.cast(onnxfile.Bool)
	}
	return out, ""
}

func (a arithmetic) on(x, y *Constant, dims []int) (*Constant, string) {
	out := &Constant{Kind: x.Kind, Dims: dims, Sized: either(x, y)}
	for i := range x.Size() {
		if isReal(x.Kind) {
			for _, v := range []float64{x.Real[i], y.Real[i]} {
				if _, reason := rounded(v, x.Kind); reason != "" {
					return nil, "arithmetic on constants with " + reason
				}
			}
			v, reason := rounded(a.real(x.Real[i], y.Real[i]), x.Kind)
			if reason != "" {
				return nil, fmt.Sprintf("arithmetic on %v and %v rounds %s", x.Real[i], y.Real[i], reason)
			}
			out.Real = append(out.Real, v)
			continue
		}
		v, ok := a.whole(x.Whole[i], y.Whole[i])
		if r := ranges[x.Kind]; !ok || v < r[0] || v > r[1] {
			return nil, fmt.Sprintf("arithmetic on %d and %d leaves %v", x.Whole[i], y.Whole[i], x.Kind)
		}
		out.Whole = append(out.Whole, v)
	}
	return out, ""
}
