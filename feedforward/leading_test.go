package feedforward

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// manyOutputs is a network of two hidden layers whose outputs lie apart by their biases.
func manyOutputs(t testing.TB, rng *rand.Rand, outputs int, apart float64) *Network {
	t.Helper()
	weights := func(n int, scale float64) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = scale * rng.NormFloat64()
		}
		return w
	}
	b := NewBuilder(8)
	h := b.ReLU(b.Dense(b.ReLU(b.Dense(0, 12, weights(96, 0.5), weights(12, 0.3))), 12, weights(144, 0.4), weights(12, 0.3)))
	n, err := b.Network(b.Dense(h, outputs, weights(12*outputs, 0.3), weights(outputs, apart)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The bounds on the confidence equal those by all differences, whichever pairs are left out, and most are where
// classes lie apart.
func TestConfidenceOfLeadingPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 1))
	for trial := range 300 {
		n, outputs := randomNetwork(t, rng, 0.5), 3
		if trial%2 == 0 {
			outputs = 2 + rng.IntN(40)
			n = manyOutputs(t, rng, outputs, []float64{0, 0.5, 3}[rng.IntN(3)])
		}
		x := uniform(rng, n.InputShape().Size())
		method := []Method{IBP, CROWN, FullCROWN, AlphaCROWN}[rng.IntN(4)]
		a := []Arithmetic{Plain, Rigorous}[rng.IntN(2)]
		box := mustBall(t, x, []float64{0, 0.01, 0.1, 0.5}[rng.IntN(4)], a)
		u, err := n.Differences(t.Context(), box, method, a)
		if err != nil {
			t.Fatal(err)
		}
		c, err := n.Confidence(t.Context(), x, box, method, a)
		if err != nil {
			t.Fatal(err)
		}
		if upper, lower := LogBounds(u, outputs); !near(c.LogUpper, upper, 1e-13) || !near(c.LogLower, lower, 1e-13) {
			t.Fatalf("%d outputs, %s, %s: ln Conf in [%v, %v]; by all differences [%v, %v]", outputs, method, a, c.LogLower, c.LogUpper, lower, upper)
		}
	}
	const outputs = 300
	n := manyOutputs(t, rng, outputs, 4)
	x := uniform(rng, 8)
	f, _ := n.Forward(x)
	b, err := n.bounder(t.Context(), mustBall(t, x, 0.02, Rigorous), CROWN, Rigorous)
	if err != nil {
		t.Fatal(err)
	}
	leader, _ := LogConfidence(f)
	p, err := b.pairs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.highest(t.Context(), leader); err != nil {
		t.Fatal(err)
	}
	if _, err := p.lowest(t.Context(), f, leader); err != nil {
		t.Fatal(err)
	}
	if known := p.count(); known > 5*outputs {
		t.Errorf("%d of %d pairs were computed; expected about twice the outputs", known, outputs*outputs)
	}
}

// Pairs of few of the outputs have the bounds of rows over all outputs, bit for bit.
func TestDifferencesOfFewOutputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 4))
	const outputs = 120
	var rows []float64
	for pair := range outputs * outputs {
		row := make([]float64, outputs)
		row[pair/outputs]++
		row[pair%outputs]--
		rows = append(rows, row...)
	}
	b := NewBuilder(8)
	straight, err := b.Network(b.Dense(0, outputs, uniform(rng, 8*outputs), nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*Network{straight, manyOutputs(t, rng, outputs, 0.5)} {
		x := uniform(rng, 8)
		for _, set := range []Set{mustBall(t, x, 0.1, Rigorous), Segment{x, uniform(rng, 8), 0.1}} {
			for _, method := range []Method{IBP, CROWN, FullCROWN, AlphaCROWN} {
				want, err := n.LinearBounds(t.Context(), set, rows, make([]float64, outputs*outputs), method, Rigorous)
				if err != nil {
					t.Fatal(err)
				}
				u, err := n.Differences(t.Context(), set, method, Rigorous)
				for pair, v := range u {
					if k, l := pair/outputs, pair%outputs; err != nil || k != l && v != want[pair] {
						t.Fatalf("%s, %T: U_%d,%d is %v, of rows %v; %v", method, set, k, l, v, want[pair], err)
					}
				}
			}
		}
	}
}

// A class is closed where intervals cannot lift its bound above another; of a box of no width, all such are.
func TestClosedClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 5))
	for range 40 {
		n, x := manyOutputs(t, rng, 2+rng.IntN(30), 1), uniform(rng, 8)
		for _, epsilon := range []float64{0, 0.01, 0.2} {
			b, err := n.bounder(t.Context(), mustBall(t, x, epsilon, Plain), IBP, Plain)
			if err != nil {
				t.Fatal(err)
			}
			p, err := b.pairs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for k := range n.Outputs() {
				bound := p.upper(k)
				if above := bound * (1 - 1e-6); p.closed(k, bound) || epsilon == 0 && !p.closed(k, above) {
					t.Fatalf("epsilon %v, bound %v: closed by %v, open to %v", epsilon, bound, bound, above)
				}
			}
		}
	}
}

// count is how many pairs are known.
func (p *pairs) count() (known int) {
	for _, row := range p.found[0] {
		known += len(row)
	}
	return known
}

// Outputs that are all alike leave every class open. Then the pairs end, and the bounds lie between those of intervals and of all pairs.
func TestConfidenceOfAlikeOutputs(t *testing.T) {
	defer func(n int) { mostPairs = n }(mostPairs)
	rng := rand.New(rand.NewPCG(19, 3))
	const outputs = 60
	for range 10 {
		n := manyOutputs(t, rng, outputs, 0)
		x := uniform(rng, 8)
		box := mustBall(t, x, 0.3, Rigorous)
		bounds := func(method Method, most int) Confidence {
			mostPairs = most
			c, err := n.Confidence(t.Context(), x, box, method, Rigorous)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		wide, some, all := bounds(IBP, 1<<20), bounds(CROWN, 400), bounds(CROWN, 1<<20)
		if !(all.LogUpper <= some.LogUpper && some.LogUpper <= wide.LogUpper+1e-12 && all.LogLower >= some.LogLower && some.LogLower >= wide.LogLower-1e-12) {
			t.Errorf("ln Conf in [%v, %v]; of all pairs [%v, %v], of intervals [%v, %v]", some.LogLower, some.LogUpper, all.LogLower, all.LogUpper, wide.LogLower, wide.LogUpper)
		}
		count := &ending{t.Context(), math.MaxInt}
		mostPairs = 400
		b, err := n.bounder(count, box, CROWN, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.pairs(count)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.highest(count, all.Class); err != nil {
			t.Fatal(err)
		}
		if known := p.count(); known > 3*outputs+400 {
			t.Errorf("%d pairs were computed", known)
		}
	}
}

// A sum over many classes whose every addition rounds up is allowed for.
func TestLogBoundsOfManyClasses(t *testing.T) {
	const classes = 3000
	large, small := 0x1p-10, 1.1*0x1p-63 // just more than half of what separates large from the next number
	u := make([]float64, classes*classes)
	for l := 1; l < classes; l++ {
		u[l] = -math.Log(small)
	}
	u[1] = -math.Log(large)
	exact := 0.0 // of small terms first
	for range classes - 2 {
		exact += small
	}
	exact = -math.Log1p(large + exact)
	if upper, _ := LogBounds(u, classes); upper < exact*(1-1e-14) || upper > exact*(1-1e-11) {
		t.Errorf("ln Conf is at most %v, but was bounded by %v: %g of it", exact, upper, upper/exact-1)
	}
}

// ending is a context that ends when it was asked so many times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// An interrupt is seen between layers, in bounds between them, and between blocks of pairs.
func TestBoundsStop(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 2))
	n := manyOutputs(t, rng, 30, 0)
	x := uniform(rng, 8)
	box := mustBall(t, x, 0.2, Rigorous)
	count := &ending{t.Context(), math.MaxInt}
	for _, method := range []Method{IBP, CROWN, FullCROWN} {
		count.left = math.MaxInt
		if _, err := n.Confidence(count, x, box, method, Rigorous); err != nil {
			t.Fatal(err)
		}
		asked := math.MaxInt - count.left
		if least := map[Method]int{IBP: 1, CROWN: 6, FullCROWN: 40}[method]; asked < least {
			t.Errorf("%s asked its context %d times, expected %d and more", method, asked, least)
		}
		for _, left := range []int{0, asked / 2, asked - 1} {
			if _, err := n.Confidence(&ending{t.Context(), left}, x, box, method, Rigorous); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, stopped after %d of %d looks: %v", method, left, asked, err)
			}
		}
	}
}
