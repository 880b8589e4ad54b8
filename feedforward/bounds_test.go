package feedforward

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) }

// The worked network of two hidden units and three classes; the numbers are computed by hand.
func worked(t testing.TB) *Network {
	b := NewBuilder(2)
	h := b.ReLU(b.Dense(0, 2, []float64{1, -1, 1, 1}, []float64{0, -1}))
	n, err := b.Network(b.Dense(h, 3, []float64{1, 0, 0, 1, -1, 1}, []float64{0, 0, 0.5}))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWorkedNetwork(t *testing.T) {
	n := worked(t)
	x := []float64{0.5, 0.5}
	box, err := Ball(x, 0.1, Plain)
	if err != nil {
		t.Fatal(err)
	}
	u, err := n.Differences(t.Context(), box, IBP, Plain)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0, .2, -.1, .2, 0, -.3, .7, .5, 0}
	for i := range want {
		if !near(u[i], want[i], 1e-12) {
			t.Errorf("U[%d] = %v; expected %v", i, u[i], want[i])
		}
	}
	c, err := n.Confidence(t.Context(), x, box, IBP, Plain)
	if err != nil {
		t.Fatal(err)
	}
	if !near(math.Exp(c.Log), 0.451863, 1e-6) || !near(math.Exp(c.LogUpper), 0.475485, 1e-6) || !near(c.LogUpper, -0.743420, 1e-6) {
		t.Errorf("confidence %.6f, bound %.6f (log %.6f)", math.Exp(c.Log), math.Exp(c.LogUpper), c.LogUpper)
	}
	f, _ := n.Forward([]float64{0.6, 0.6})
	if _, log := LogConfidence(f); !near(log, c.LogUpper, 1e-12) {
		t.Errorf("the bound %v is not attained at (0.6, 0.6): %v", c.LogUpper, log)
	}
	rigorous, err := n.Confidence(t.Context(), x, mustBall(t, x, 0.1, Rigorous), IBP, Rigorous)
	if err != nil || !(rigorous.LogUpper > c.LogUpper) || rigorous.LogUpper > c.LogUpper+1e-4 {
		t.Errorf("rigorous %v, plain %v, %v", rigorous.LogUpper, c.LogUpper, err)
	}
}

func mustBall(t testing.TB, x []float64, epsilon float64, a Arithmetic) Box {
	t.Helper()
	b, err := Ball(x, epsilon, a)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBallIsClipped(t *testing.T) {
	b := NewBuilder(2)
	n, err := b.Network(b.Dense(0, 2, []float64{0, 0, 2, -1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	u, _ := n.Differences(t.Context(), mustBall(t, []float64{0.95, 0.5}, 0.1, Plain), IBP, Plain)
	if !near(u[2], 1.6, 1e-12) {
		t.Errorf("U_21 = %v; expected 1.6", u[2])
	}
	x := []float64{0.5, 0.5}
	box := mustBall(t, x, 0.1, Plain)
	u, _ = n.Differences(t.Context(), box, IBP, Plain)
	c, _ := n.Confidence(t.Context(), x, box, IBP, Plain)
	if !near(u[2], 0.8, 1e-12) || !near(u[1], -0.2, 1e-12) || !near(math.Exp(c.LogUpper), 0.689974, 1e-6) {
		t.Errorf("U_21 = %v, U_12 = %v, bound %v", u[2], u[1], math.Exp(c.LogUpper))
	}
}

func TestConvolutionBounds(t *testing.T) {
	b := NewBuilder(1, 3, 3)
	n, err := b.Network(b.Conv(0, 1, ConvOptions{Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}}, []float64{0, 1, 0, 1, -4, 1, 0, 1, 0}, nil))
	if err != nil {
		t.Fatal(err)
	}
	x := slices.Repeat([]float64{0.5}, 9)
	out, err := n.Intervals(mustBall(t, x, 0.1, Plain), Plain)
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[int][2]float64{4: {-0.8, 0.8}, 1: {-1.2, 0.2}, 0: {-1.6, -0.4}} {
		if !near(out.Lower[place], want[0], 1e-12) || !near(out.Upper[place], want[1], 1e-12) {
			t.Errorf("place %d: [%v, %v]; expected %v", place, out.Lower[place], out.Upper[place], want)
		}
	}
}

// Convolutions against the sum written out.
func TestConvolutionSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		groups := 1 + rng.IntN(2)
		in := Shape{groups * (1 + rng.IntN(2)), 3 + rng.IntN(4), 3 + rng.IntN(4)}
		out := groups * (1 + rng.IntN(2))
		o := ConvOptions{Kernel: [2]int{1 + rng.IntN(3), 1 + rng.IntN(3)}, Stride: [2]int{1 + rng.IntN(2), 1 + rng.IntN(2)}, Dilation: [2]int{1, 1 + rng.IntN(2)},
			Pad: [4]int{rng.IntN(2), rng.IntN(2), rng.IntN(2), rng.IntN(3)}, Groups: groups}
		per := in[0] / groups
		w := uniform(rng, out*per*o.Kernel[0]*o.Kernel[1])
		bias := uniform(rng, out)
		b := NewBuilder(in...)
		n, err := b.Network(b.Conv(0, out, o, w, bias))
		if err != nil {
			continue // a kernel that does not fit
		}
		c := n.nodes[1].layer.(affine)
		var ins, sums, want [3][]float64
		for i := range sums {
			ins[i] = uniform(rng, in.Size())
			sums[i], want[i] = make([]float64, n.Outputs()), make([]float64, n.Outputs())
			c.apply(t.Context(), ins[i], want[i], i > 0)
		}
		c.spread(t.Context(), ins, sums)
		for i := range sums {
			for k, v := range sums[i] {
				if !near(v, want[i][k], 1e-12) {
					t.Fatalf("%+v on %v: sum %d of output %d is %v, one by one %v", o, in, i, k, v, want[i][k])
				}
			}
		}
		x := uniform(rng, in.Size())
		got, err := n.Forward(x)
		if err != nil {
			t.Fatal(err)
		}
		s := b.Shape(1)
		for k := range out {
			for oy := range s[1] {
				for ox := range s[2] {
					want := bias[k]
					for c := range per {
						channel := k/(out/groups)*per + c
						for ky := range o.Kernel[0] {
							for kx := range o.Kernel[1] {
								y, xx := oy*o.Stride[0]+ky*o.Dilation[0]-o.Pad[0], ox*o.Stride[1]+kx*o.Dilation[1]-o.Pad[1]
								if y >= 0 && y < in[1] && xx >= 0 && xx < in[2] {
									want += w[((k*per+c)*o.Kernel[0]+ky)*o.Kernel[1]+kx] * x[(channel*in[1]+y)*in[2]+xx]
								}
							}
						}
					}
					if g := got[(k*s[1]+oy)*s[2]+ox]; !near(g, want, 1e-12) {
						t.Fatalf("%+v on %v: output %d, %d, %d is %v; by the sum %v", o, in, k, oy, ox, g, want)
					}
				}
			}
		}
	}
}

// exactBox is interval propagation in rational arithmetic.
func (n *Network) exactBox(t testing.TB, input Box) (lower, upper [][]*big.Rat) {
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	lower, upper = make([][]*big.Rat, len(n.nodes)), make([][]*big.Rat, len(n.nodes))
	for i := range input.Lower {
		lower[0], upper[0] = append(lower[0], rat(input.Lower[i])), append(upper[0], rat(input.Upper[i]))
	}
	for k, nd := range n.nodes[1:] {
		size := nd.shape.Size()
		lo, hi := make([]*big.Rat, size), make([]*big.Rat, size)
		in := nd.in[0]
		ends := func(f func(v *big.Rat) *big.Rat) {
			for i := range lo {
				lo[i], hi[i] = f(lower[in][i]), f(upper[in][i])
			}
		}
		switch l := nd.layer.(type) {
		case affine:
			b := l.biases()
			for o := range lo {
				lo[o], hi[o] = new(big.Rat), new(big.Rat)
				if b != nil {
					lo[o], hi[o] = rat(b[o]), rat(b[o])
				}
			}
			for i, column := range columnsOf(l) {
				for o, w := range column {
					a, b := new(big.Rat).Mul(rat(w), lower[in][i]), new(big.Rat).Mul(rat(w), upper[in][i])
					if w < 0 {
						a, b = b, a
					}
					lo[o].Add(lo[o], a)
					hi[o].Add(hi[o], b)
				}
			}
		case *sum:
			for o := range lo {
				lo[o], hi[o] = new(big.Rat), new(big.Rat)
				for j, from := range nd.in {
					if l.sign[j] > 0 {
						lo[o].Add(lo[o], lower[from][o])
						hi[o].Add(hi[o], upper[from][o])
					} else {
						lo[o].Sub(lo[o], upper[from][o])
						hi[o].Sub(hi[o], lower[from][o])
					}
				}
			}
		case *arrange:
			for o := range lo {
				i := o
				if l.from != nil {
					i = int(l.from[o])
				}
				lo[o], hi[o] = rat(l.constant), rat(l.constant)
				if i >= 0 {
					lo[o], hi[o] = lower[in][i], upper[in][i]
				}
			}
		case *concat:
			l.each(func(j, from, to, size int) {
				copy(lo[to:], lower[nd.in[j]][from:from+size])
				copy(hi[to:], upper[nd.in[j]][from:from+size])
			})
		case product:
			for o := range lo {
				lo[o], hi[o] = nil, nil
				for _, x := range []*big.Rat{lower[in][o], upper[in][o]} {
					for _, y := range []*big.Rat{lower[nd.in[1]][o], upper[nd.in[1]][o]} {
						v := new(big.Rat).Mul(x, y)
						if lo[o] == nil || v.Cmp(lo[o]) < 0 {
							lo[o] = v
						}
						if hi[o] == nil || v.Cmp(hi[o]) > 0 {
							hi[o] = v
						}
					}
				}
			}
		case *maximum:
			for o := range lo {
				members := l.members(o, nil)
				lo[o], hi[o] = lower[in][members[0]], upper[in][members[0]]
				for _, i := range members {
					if lower[in][i].Cmp(lo[o]) > 0 {
						lo[o] = lower[in][i]
					}
					if upper[in][i].Cmp(hi[o]) > 0 {
						hi[o] = upper[in][i]
					}
				}
			}
		case *activation: // sigmoid and tanh are not rational: math's value is exact to 1e-15, which the comparison allows
			ends(func(v *big.Rat) *big.Rat {
				f, _ := v.Float64()
				if l.f(1) == 1 && l.f(-8) == 0 && f > 0 {
					return v // ReLU keeps every digit
				}
				return rat(l.f(f))
			})
		default:
			t.Fatalf("no exact rule for %T", l)
		}
		lower[k+1], upper[k+1] = lo, hi
	}
	return lower, upper
}

// Interval bounds against rational arithmetic: plain ones are equal but for float64's rounding, rigorous ones contain
// them, by little.
func TestIntervalsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	widest, trials := 0.0, 60
	if testing.Short() {
		trials = 12
	}
	for trial := range trials {
		n := randomNetwork(t, rng, 0.7)
		x := uniform(rng, n.InputShape().Size())
		epsilon := []float64{0, 0.01, 0.1, 0.4}[trial%4]
		box := mustBall(t, x, epsilon, Rigorous)
		lower, upper := n.exactBox(t, box)
		plainly, _, err := n.intervals(t.Context(), box, Plain)
		if err != nil {
			t.Fatal(err)
		}
		rigorously, _, err := n.intervals(t.Context(), box, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		for k, nd := range n.nodes {
			for i := range lower[k] {
				lo, _ := lower[k][i].Float64()
				hi, _ := upper[k][i].Float64()
				if !near(plainly.boxes[k].Lower[i], lo, 1e-11) || !near(plainly.boxes[k].Upper[i], hi, 1e-11) {
					t.Fatalf("%s: plain [%v, %v]; exact [%v, %v]", nd.name, plainly.boxes[k].Lower[i], plainly.boxes[k].Upper[i], lo, hi)
				}
				if new(big.Rat).SetFloat64(rigorously.boxes[k].Lower[i]).Cmp(lower[k][i]) > 0 || new(big.Rat).SetFloat64(rigorously.boxes[k].Upper[i]).Cmp(upper[k][i]) < 0 {
					t.Fatalf("%s: rigorous [%v, %v] does not contain the exact [%v, %v]", nd.name, rigorously.boxes[k].Lower[i], rigorously.boxes[k].Upper[i], lo, hi)
				}
				widest = max(widest, (rigorously.boxes[k].Upper[i]-hi)/(1+math.Abs(hi)))
			}
		}
	}
	t.Logf("rigorous bounds are wider than exact ones by at most %.2g, relative to 1 + |value|", widest)
	if widest > 0.01 {
		t.Errorf("rigorous bounds are wider by %v: something is far too loose", widest)
	}
}

// Merged differences against rational arithmetic on the last layer.
func TestMergedIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 40 {
		n := randomNetwork(t, rng, 0.7)
		box := mustBall(t, uniform(rng, n.InputShape().Size()), 0.05, Plain)
		u, err := n.Differences(t.Context(), box, IBP, Plain)
		if err != nil {
			t.Fatal(err)
		}
		r, _, _ := n.intervals(t.Context(), box, Plain)
		boxes := r.boxes
		last := n.nodes[n.output]
		l := last.layer.(affine)
		columns, in := columnsOf(l), boxes[last.in[0]]
		b := l.biases()
		for k := range 3 {
			for j := range 3 {
				want := new(big.Rat).Sub(new(big.Rat).SetFloat64(b[k]), new(big.Rat).SetFloat64(b[j]))
				for i, column := range columns {
					w := new(big.Rat).Sub(new(big.Rat).SetFloat64(column[k]), new(big.Rat).SetFloat64(column[j]))
					end := in.Upper[i]
					if w.Sign() < 0 {
						end = in.Lower[i]
					}
					want.Add(want, w.Mul(w, new(big.Rat).SetFloat64(end)))
				}
				if exact, _ := want.Float64(); !near(u[k*3+j], exact, 1e-11) {
					t.Fatalf("U[%d, %d] = %v; exact %v", k, j, u[k*3+j], exact)
				}
			}
		}
	}
}

// No value at any point of the box exceeds its bound: in float64 and in float32 with sums in random order, tolerance 0.
func TestBoundsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for trial := range 60 {
		n := randomNetwork(t, rng, []float64{0.2, 0.7, 2}[trial%3])
		checkBounds(t, n, rng, []float64{0, 1e-6, 0.02, 0.3}[trial%4], 12)
	}
}

// checkBounds draws points of a ball and compares every hidden value, every difference and the confidence with its
// bound.
func checkBounds(t testing.TB, n *Network, rng *rand.Rand, epsilon float64, points int) {
	t.Helper()
	x := uniform(rng, n.InputShape().Size())
	box := mustBall(t, x, epsilon, Rigorous)
	r, _, err := n.intervals(t.Context(), box, Rigorous)
	if err != nil {
		t.Fatal(err)
	}
	method := []Method{IBP, CROWN, FullCROWN, AlphaCROWN, Split}[rng.IntN(5)]
	c, err := n.Confidence(t.Context(), x, box, method, Rigorous)
	if err != nil {
		t.Fatal(err)
	}
	u, err := n.Differences(t.Context(), box, method, Rigorous)
	if err != nil {
		t.Fatal(err)
	}
	k := n.Outputs()
	for range points {
		z := inside(rng, box)
		for i, v := range n.values(z) {
			for j := range v {
				if v[j] < r.boxes[i].Lower[j] || v[j] > r.boxes[i].Upper[j] {
					t.Fatalf("%s: value %v outside [%v, %v]", n.nodes[i].name, v[j], r.boxes[i].Lower[j], r.boxes[i].Upper[j])
				}
			}
		}
		for i := range z { // points that float32 holds, inside the box
			z[i] = float64(float32(z[i]))
			if z[i] < box.Lower[i] {
				z[i] = float64(math.Nextafter32(float32(z[i]), 2))
			}
			if z[i] > box.Upper[i] {
				z[i] = float64(math.Nextafter32(float32(z[i]), -1))
			}
		}
		exact, err := n.Forward(z)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range [][]float64{exact, n.single32(rng, z)} {
			for a := range k {
				for b := range k {
					if f[a]-f[b] > u[a*k+b] {
						t.Fatalf("f[%d] − f[%d] = %v is above its bound %v", a, b, f[a]-f[b], u[a*k+b])
					}
				}
			}
			if _, log := LogConfidence(f); log > c.LogUpper || log < c.LogLower {
				t.Fatalf("log confidence %v outside [%v, %v]", log, c.LogLower, c.LogUpper)
			}
		}
	}
}

func FuzzBoundsHold(f *testing.F) {
	f.Add(uint64(1), 0.1, 0.7)
	f.Fuzz(func(t *testing.T, seed uint64, epsilon, scale float64) {
		if !(epsilon >= 0 && epsilon <= 1) || !(scale > 1e-3 && scale < 10) {
			t.Skip("no radius, or weights that overflow or vanish")
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		checkBounds(t, randomNetwork(t, rng, scale), rng, epsilon, 8)
	})
}

// CROWN is never above interval bounds, and both grow with the ball; at ε = 0 plain bounds are the clean confidence.
func TestBoundsAreMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	better := 0
	for range 40 {
		n := randomNetwork(t, rng, 0.7)
		x := uniform(rng, n.InputShape().Size())
		last := math.Inf(-1)
		for _, epsilon := range []float64{0, 0.01, 0.05, 0.2} {
			box := mustBall(t, x, epsilon, Plain)
			ibp, err := n.Differences(t.Context(), box, IBP, Plain)
			if err != nil {
				t.Fatal(err)
			}
			crown, _ := n.Differences(t.Context(), box, CROWN, Plain)
			full, _ := n.Differences(t.Context(), box, FullCROWN, Plain)
			for i := range ibp {
				if crown[i] > ibp[i] || full[i] > crown[i]+1e-12 {
					t.Fatalf("intervals %v, CROWN %v, full CROWN %v", ibp[i], crown[i], full[i])
				}
				if crown[i] < ibp[i]-1e-6 {
					better++
				}
			}
			c, _ := n.Confidence(t.Context(), x, box, IBP, Plain)
			if epsilon == 0 && (!near(c.Log, c.LogUpper, 1e-9) || !near(c.Log, c.LogLower, 1e-9)) {
				t.Errorf("at ε = 0 the confidence %v is bounded by [%v, %v]", c.Log, c.LogLower, c.LogUpper)
			}
			if c.LogUpper < last-1e-12 {
				t.Errorf("the bound falls from %v to %v as ε grows", last, c.LogUpper)
			}
			last = c.LogUpper
		}
	}
	if better == 0 {
		t.Error("CROWN was never tighter than intervals")
	}
}

// Affine networks of two classes are bounded exactly, and so are hidden values where all weights are non-negative.
func TestExactCases(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 20 {
		b := NewBuilder(3)
		w := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		n, _ := b.Network(b.Dense(0, 2, w, []float64{rng.NormFloat64(), 0}))
		x := uniform(rng, 3)
		box := mustBall(t, x, 0.1, Plain)
		c, _ := n.Confidence(t.Context(), x, box, IBP, Plain)
		most := math.Inf(-1)
		for corner := range 8 {
			z := make([]float64, 3)
			for i := range z {
				z[i] = box.Lower[i]
				if corner>>i&1 == 1 {
					z[i] = box.Upper[i]
				}
			}
			f, _ := n.Forward(z)
			_, log := LogConfidence(f)
			most = max(most, log)
		}
		if !near(c.LogUpper, most, 1e-10) {
			t.Errorf("bound %v; the largest corner has %v", c.LogUpper, most)
		}
	}
}

// Gradients by central differences, away from kinks.
func TestVectorJacobian(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 40 {
		n := randomNetwork(t, rng, 0.7)
		x := uniform(rng, n.InputShape().Size())
		v := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		_, g, err := n.VectorJacobian(x, func([]float64) []float64 { return v })
		if err != nil {
			t.Fatal(err)
		}
		const h = 1e-6
		wrong := 0
		for i := range x {
			at := func(d float64) float64 {
				z := slices.Clone(x)
				z[i] += d
				f, _ := n.Forward(z)
				return v[0]*f[0] + v[1]*f[1] + v[2]*f[2]
			}
			if d := (at(h) - at(-h)) / (2 * h); !near(g[i], d, 1e-5) {
				wrong++
			}
		}
		if wrong > 0 { // a kink within 1e-6 has probability far below 1e-3
			t.Errorf("%d of %d derivatives differ from central differences", wrong, len(x))
		}
	}
}

func TestFeedforwardRefuses(t *testing.T) {
	n := worked(t)
	for name, f := range map[string]func() error{
		"3 values":         func() error { _, err := n.Forward([]float64{1, 2, 3}); return err },
		"NaN":              func() error { _, err := n.Forward([]float64{1, math.NaN()}); return err },
		"epsilon -0.1":     func() error { _, err := Ball([]float64{0.5, 0.5}, -0.1, ""); return err },
		"epsilon NaN":      func() error { _, err := Ball([]float64{0.5, 0.5}, math.NaN(), ""); return err },
		"epsilon 1.5":      func() error { _, err := Ball([]float64{0.5, 0.5}, 1.5, ""); return err },
		"is 1.2, want 0":   func() error { _, err := Ball([]float64{0.5, 1.2}, 0.1, ""); return err },
		"is [1, 0]":        func() error { _, err := n.Intervals(Box{[]float64{1, 1}, []float64{0, 1}}, ""); return err },
		"arithmetic \"x\"": func() error { _, err := n.Intervals(Box{[]float64{0, 0}, []float64{1, 1}}, "x"); return err },
		"method \"alpha\"": func() error {
			_, err := n.Differences(t.Context(), Box{[]float64{0, 0}, []float64{1, 1}}, "alpha", "")
			return err
		},
		"weight 0 is +Inf": func() error {
			b := NewBuilder(1)
			_, err := b.Network(b.Dense(0, 1, []float64{math.Inf(1)}, nil))
			return err
		},
		"1 weights": func() error { b := NewBuilder(2); _, err := b.Network(b.Dense(0, 1, []float64{1}, nil)); return err },
		"slope -1":  func() error { b := NewBuilder(2); _, err := b.Network(b.LeakyReLU(0, -1)); return err },
		"3 groups": func() error {
			b := NewBuilder(2, 4, 4)
			_, err := b.Network(b.Conv(0, 3, ConvOptions{Kernel: [2]int{1, 1}, Groups: 3}, make([]float64, 6), nil))
			return err
		},
		"does not fit": func() error {
			b := NewBuilder(1, 2, 2)
			_, err := b.Network(b.Conv(0, 1, ConvOptions{Kernel: [2]int{3, 3}}, make([]float64, 9), nil))
			return err
		},
		"input of shape []": func() error { b := NewBuilder(); _, err := b.Network(b.ReLU(0)); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; expected %q", err, name)
		}
	}
}

// Values that float32 could not hold have no bound, and never a false one.
func TestOverflowHasNoBound(t *testing.T) {
	b := NewBuilder(1)
	l := 0
	for range 5 {
		l = b.ReLU(b.Dense(l, 1, []float64{1e30}, nil))
	}
	n, err := b.Network(b.Dense(l, 2, []float64{1, -1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	u, err := n.Differences(t.Context(), mustBall(t, []float64{0.5}, 0.1, Rigorous), CROWN, Rigorous)
	if err != nil || !math.IsInf(u[1], 1) {
		t.Errorf("U = %v, %v", u, err)
	}
	if upper, lower := LogBounds(u, 2); upper != 0 || !near(lower, -math.Ln2, 1e-9) {
		t.Errorf("log bounds %v, %v; expected none", upper, lower)
	}
}
