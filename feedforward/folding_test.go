package feedforward

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// folded is a dense layer of one output between scales of all its inputs and scales and shifts of its output, as an
// engine in float32 may compute it: constants of neighbours folded into each other, the shift in front of the sum or
// behind it, subnormal numbers kept or flushed to zero.
type folded struct {
	before   []float64
	w        []float64
	s, t     []float64
	residual float64 // that is added behind all; 0: none
}

func (f folded) network(t testing.TB) *Network {
	n := len(f.w)
	b := NewBuilder(n)
	at := 0
	for _, v := range f.before {
		at = b.Scale(at, slices.Repeat([]float64{v}, n), make([]float64, n), nil)
	}
	at = b.Dense(at, 1, f.w, nil)
	for i, v := range f.s {
		at = b.Scale(at, []float64{v}, []float64{f.t[i]}, nil)
	}
	if f.residual != 0 {
		constant := b.Dense(0, 1, make([]float64, n), []float64{f.residual})
		at = b.Sum([]float64{1, 1}, at, constant)
	}
	net, err := b.Network(at)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func (f folded) run(rng *rand.Rand, x []float64) float64 {
	flush := rng.IntN(2) == 0
	round := func(v float64) float64 {
		if v = float64(float32(v)); flush && math.Abs(v) < tiny {
			return 0
		}
		return v
	}
	all := func(v []float64) []float64 {
		out := slices.Clone(v)
		for i := range out {
			out[i] = round(out[i])
		}
		return out
	}
	before, w, s, shift, bias := all(f.before), all(f.w), all(f.s), all(f.t), 0.0
	for len(before) > 1 && rng.IntN(2) == 0 {
		i := rng.IntN(len(before) - 1)
		before = slices.Replace(before, i, i+2, round(before[i]*before[i+1]))
	}
	for len(s) > 1 && rng.IntN(2) == 0 {
		i := rng.IntN(len(s) - 1)
		shift = slices.Replace(shift, i, i+2, round(round(s[i+1]*shift[i])+shift[i+1]))
		s = slices.Replace(s, i, i+2, round(s[i]*s[i+1]))
	}
	for rng.IntN(3) > 0 {
		if len(before) > 0 && (len(s) == 0 || rng.IntN(2) == 0) {
			for i := range w {
				w[i] = round(w[i] * before[len(before)-1])
			}
			before = before[:len(before)-1]
		} else if len(s) > 0 {
			for i := range w {
				w[i] = round(w[i] * s[0])
			}
			bias = round(round(bias*s[0]) + shift[0])
			s, shift = s[1:], shift[1:]
		} else {
			break
		}
	}
	residual := round(f.residual)
	sum, first := 0.0, rng.IntN(2) == 0
	if first {
		sum = bias
		if len(s) == 0 {
			sum, residual = round(sum+residual), 0
		}
	}
	for _, i := range rng.Perm(len(w)) {
		v := round(x[i])
		for _, b := range before {
			v = round(v * b)
		}
		sum = round(sum + round(w[i]*v))
	}
	if !first {
		sum = round(sum + bias)
	}
	for i := range s {
		sum = round(round(sum*s[i]) + shift[i])
	}
	return round(sum + residual)
}

// Whatever constants an engine folds into each other, its values lie in rigorous bounds, or there is no bound.
// Exponents go from subnormal weights to those that overflow.
func TestFoldedConstantsLieInside(t *testing.T) {
	networks := 20_000
	if testing.Short() {
		networks = 3000
	}
	rng := rand.New(rand.NewPCG(38, 5))
	bounded, odd := 0, 0
	for range networks {
		n := 1 + rng.IntN(6)
		if rng.IntN(20) == 0 {
			n = 300
		}
		spread := []int{1, 8, 60, 140}[rng.IntN(4)]
		draw := func() float64 {
			return float64(float32(math.Ldexp(rng.NormFloat64(), min(rng.IntN(2*spread)-spread, 120))))
		}
		f := folded{}
		for range rng.IntN(3) {
			f.before = append(f.before, draw())
		}
		for range n {
			f.w = append(f.w, draw())
		}
		for range rng.IntN(4) {
			f.s, f.t = append(f.s, draw()), append(f.t, draw())
		}
		if rng.IntN(2) == 0 {
			f.residual = draw()
		}
		net := f.network(t)
		box := newBox(n)
		x := make([]float64, n)
		for i := range x {
			x[i] = draw()
			if rng.IntN(3) == 0 {
				x[i] = rng.Float64()
			}
			box.Lower[i], box.Upper[i] = x[i], x[i]
		}
		out, err := net.Intervals(box, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		crown, err := net.LinearBounds(t.Context(), box, []float64{1, -1}, []float64{0, 0}, CROWN, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		exact, _ := net.Forward(x)
		if !math.IsInf(out.Upper[0], 1) {
			bounded++
		}
		for range 20 {
			v := f.run(rng, x)
			if v != exact[0] && math.Abs(v-exact[0]) > 1e-3*math.Abs(exact[0]) {
				odd++
			}
			if !(v >= out.Lower[0] || math.IsInf(out.Lower[0], -1)) || !(v <= out.Upper[0] || math.IsInf(out.Upper[0], 1)) {
				t.Fatalf("%+v at %v: %v outside %v", f, x, v, out)
			}
			if !(v <= crown[0] || math.IsInf(crown[0], 1)) || !(-v <= crown[1] || math.IsInf(crown[1], 1)) {
				t.Fatalf("%+v at %v: %v outside [%v, %v]", f, x, v, -crown[1], crown[0])
			}
		}
	}
	if bounded < networks/2 || odd < networks {
		t.Errorf("%d of %d networks have bounds, %d values are far from exact ones: the test shows nothing", bounded,
			networks, odd)
	}
}

// unbounded checks that there is no bound on the output over the box of one input, and none of a false kind.
func unbounded(t *testing.T, name string, d *drawing, x ...float64) {
	t.Helper()
	n, err := d.read()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	box := Box{x, x}
	out, err := n.Intervals(box, Rigorous)
	crown, crownErr := n.LinearBounds(t.Context(), box, []float64{1}, []float64{0}, FullCROWN, Rigorous)
	if err != nil || crownErr != nil || !math.IsInf(out.Upper[0], 1) || !math.IsInf(crown[0], 1) {
		t.Errorf("%s: %v, %v, %v, %v; expected no bound", name, out, crown, err, crownErr)
	}
}

// A sum whose parts may overflow float32 has no bound, though its value is small: in a matrix, before the factor α,
// before the division of a mean, and where an engine folds constants.
func TestOverflowOnTheWay(t *testing.T) {
	const big = 0x1p125
	unbounded(t, "matrix", draw(1, 4).floats("w", []int64{4, 1}, big, big, -big, -big).node("MatMul", "x w -> y"), 2,
		2, 2, 2)
	unbounded(t, "alpha", draw(1, 4).floats("w", []int64{4, 1}, 0x1p60, 0x1p60, 0x1p60, 0x1p60).
		node("Gemm", "x w -> y", real("alpha", 0x1p-100)), 0x1p80, 0x1p80, 0x1p80, 0x1p80)
	unbounded(t, "mean", draw(1, 1, 2, 2).node("GlobalAveragePool", "x -> p").node("Flatten", "p -> y"), 0x1p119,
		0x1p119, 0x1p119, 0x1p119)
	unbounded(t, "folded scale", draw(1, 4).floats("w", []int64{4, 1}, 0x1p100, 1, 1, 1).floats("s", nil, 0x1p100).
		floats("r", nil, 0x1p-120).
		node("MatMul", "x w -> m").node("Mul", "m s -> a").node("Mul", "a r -> y"), 0x1p-100, 0, 0, 0)
	unbounded(t, "scale in front", draw(1, 4).floats("w", []int64{4, 1}, 0x1p60, 1, 1, 1).floats("s", nil, 0x1p-100).
		node("Mul", "x s -> m").node("MatMul", "m w -> y"), 0x1p100, 0, 0, 0)
	unbounded(t, "sigmoid", draw(1, 4).floats("w", []int64{4, 1}, big, big, -big, -big).node("MatMul", "x w -> m").
		node("Sigmoid", "m -> y"), 4, 4, 4, 4)
	unbounded(t, "clip", draw(1, 4).floats("w", []int64{4, 1}, big, big, -big, -big).floats("l", nil, -1).floats("h",
		nil, 1).
		node("MatMul", "x w -> m").node("Clip", "m l h -> y"), 4, 4, 4, 4)
}

// Products that are subnormal may be lost: of a weight, of a reciprocal, and of constants that an engine folds.
func TestUnderflowOnTheWay(t *testing.T) {
	for name, test := range map[string]struct {
		*drawing
		x, lost float64 // the input, and a value that an engine may give
	}{
		"weight":     {draw(1, 1).floats("w", []int64{1, 1}, 0x1p-130).node("MatMul", "x w -> y"), 0x1p118, 0},
		"reciprocal": {draw(1, 1).floats("c", nil, 0x1p127).node("Div", "x c -> y"), 0x1p118, 0},
		"normalisation": {draw(1, 1, 1, 1).floats("w", []int64{1, 1, 1, 1}, 0x1p-100).floats("g", []int64{1}, 0x1p-60).
			floats("z", []int64{1}, 0).
			floats("v", []int64{1}, 1).node("Conv", "x w -> c").node("BatchNormalization", "c g z z v -> y"), 0x1p100, 0},
		"gamma and variance": {draw(1, 1, 1, 1).floats("g", []int64{1}, 0x1p100).floats("z", []int64{1}, 0).floats("v",
			[]int64{1}, 0x1p119).
			node("BatchNormalization", "x g z z v -> y"), 0x1p-70, 0},
		"two factors": {draw(1, 1).floats("a", nil, 0x1p-100).floats("b", nil, 0x1p-60).node("Mul", "x a -> m").
			node("Mul", "m b -> y"), 0x1p100, 0},
	} {
		n, err := test.read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x := []float64{test.x}
		out, err := n.Intervals(Box{x, x}, Rigorous)
		if err != nil || out.Lower[0] > test.lost || out.Upper[0] < test.lost {
			t.Errorf("%s: %v, %v; an engine may give %v", name, out, err, test.lost)
		}
		bounds, err := n.LinearBounds(t.Context(), Box{x, x}, []float64{-1}, []float64{0}, FullCROWN, Rigorous)
		if err != nil || -bounds[0] > test.lost {
			t.Errorf("%s: at least %v, %v; an engine may give %v", name, -bounds[0], err, test.lost)
		}
	}
}

// What cannot be evaluated with subnormal numbers flushed is refused: a divisor, and a variance.
func TestSubnormalDivisorsAreRefused(t *testing.T) {
	draw(1, 1).floats("c", nil, 0x1p-130).node("Div", "x c -> y").refused(t, "flushed to 0")
	draw(1, 1).floats("g", []int64{1}, 1).floats("v", []int64{1}, 0).
		node("BatchNormalization", "x g g g v -> y", real("epsilon", 0x1p-140)).refused(t, "variance")
	draw(1, 1).floats("g", []int64{1}, 1).floats("v", []int64{1}, -0.5).
		node("BatchNormalization", "x g g g v -> y", real("epsilon", 1)).refused(t, "variance")
}

// A shift of a normalisation, and a residual, may be added before the products of the layer that it is folded into.
func TestAddedInFrontOfTheSum(t *testing.T) {
	const n = 2000
	w := slices.Repeat([]float64{float64(float32(1e-4))}, n)
	for name, add := range map[string]func(b *Builder, sum int) int{
		"shift": func(b *Builder, sum int) int { return b.Scale(sum, []float64{1}, []float64{1000}, nil) },
		"residual": func(b *Builder, sum int) int {
			return b.Sum([]float64{1, 1}, sum, b.Dense(0, 1, make([]float64, n), []float64{1000}))
		},
		"moved residual": func(b *Builder, sum int) int {
			sum = b.Reshape(sum, 1, 1)
			return b.Sum([]float64{1, 1}, sum, b.Reshape(b.Dense(0, 1, make([]float64, n), []float64{1000}), 1, 1))
		},
	} {
		b := NewBuilder(n)
		net, err := b.Network(add(b, b.Dense(0, 1, w, nil)))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(9, 38))
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(float32(rng.Float64()))
		}
		sum := float32(1000)
		for i, v := range x {
			sum += float32(w[i]) * float32(v)
		}
		out, err := net.Intervals(Box{x, x}, Rigorous)
		if err != nil || float64(sum) < out.Lower[0] || float64(sum) > out.Upper[0] {
			t.Errorf("%s: %v outside %v, %v", name, sum, out, err)
		}
	}
}
