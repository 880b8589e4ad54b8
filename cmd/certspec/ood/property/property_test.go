package property

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/certspec/certspec/feedforward"
)

// worked is the network of two hidden units whose largest f_0 − f_1 over [.4, .6]² is .2 (at a corner), with a
// third output.
func worked(t testing.TB) *feedforward.Network {
	t.Helper()
	b := feedforward.NewBuilder(2)
	h := b.ReLU(b.Dense(0, 2, []float64{1, -1, 1, 1}, []float64{0, -1}))
	n, err := b.Network(b.Dense(h, 3, []float64{1, 0, 0, 1, -1, 1}, []float64{0, 0, 0.5}))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const header = `; a box and three outputs
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(declare-const Y_2 Real)
(assert (>= X_0 0.4)) (assert (<= X_0 0.6))
(assert (and (>= X_1 4e-1) (<= X_1 0.6)))
`

func parse(t testing.TB, text string) *Property {
	t.Helper()
	p, err := parseFrom("p.vnnlib", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDecide(t *testing.T) {
	n := worked(t)
	for assertion, want := range map[string]Verdict{
		"(assert (>= Y_0 Y_2))": Holds,    // f_2 − f_0 is at least .5 − .4
		"(assert (>= Y_2 Y_0))": Violated, // everywhere
		"(assert (or (and (>= Y_0 Y_2) (>= Y_1 Y_2)) (and (>= Y_0 0.21))))": Holds,
		"(assert (or (and (>= Y_0 Y_2)) (and (>= Y_0 0.19))))":              Violated, // f_0 reaches .2 in a corner
		"(assert (<= (+ Y_0 (* -2.0 Y_1)) -0.39))":                          Violated,
		"(assert (<= (+ Y_0 (* -2.0 Y_1)) -0.41))":                          Holds, // f_1 ≤ .2
		"(assert (and (>= Y_0 0.15) (>= Y_1 0.15)))":                        Holds, // it takes x_0 ≥ 0.65
	} {
		got, err := Decide(t.Context(), n, parse(t, header+assertion), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict != want {
			t.Errorf("%s: %+v; expected %s", assertion, got, want)
		}
		if got.Verdict == Violated && (len(got.Witness) != 2 || got.Witness[0] < .4 || got.Witness[1] > .6) {
			t.Errorf("%s: witness %v", assertion, got.Witness)
		}
	}
}

// Random networks and properties: what is said to hold is not met by 20,000 points, corners included, and witnesses
// meet what they are said to.
func TestDecideIsSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	counts := map[Verdict]int{}
	for range 60 {
		b := feedforward.NewBuilder(3)
		normal := func(k int) []float64 {
			w := make([]float64, k)
			for i := range w {
				w[i] = rng.NormFloat64()
			}
			return w
		}
		h := b.ReLU(b.Dense(b.ReLU(b.Dense(0, 8, normal(24), normal(8))), 8, normal(64), normal(8)))
		n, err := b.Network(b.Dense(h, 2, normal(16), normal(2)))
		if err != nil {
			t.Fatal(err)
		}
		lo := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		hi := []float64{lo[0] + .3, lo[1] + .3, lo[2] + .3}
		f, _ := n.Forward(lo)
		bound := f[0] - f[1] + 3*rng.NormFloat64()
		text := "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const X_2 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)"
		for i := range 3 {
			text += fmt.Sprintf("(assert (>= X_%d %v))(assert (<= X_%d %v))", i, lo[i], i, hi[i])
		}
		text += fmt.Sprintf("(assert (>= (- Y_0 Y_1) %v))", bound)
		got, err := Decide(t.Context(), n, parse(t, text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		counts[got.Verdict]++
		most := math.Inf(-1)
		for range 20_000 {
			z := make([]float64, 3)
			for i := range z {
				z[i] = lo[i] + (hi[i]-lo[i])*min(max(1.5*rng.Float64()-.25, 0), 1)
			}
			f, _ := n.Forward(z)
			most = max(most, f[0]-f[1])
		}
		if got.Verdict == Holds && most >= bound {
			t.Fatalf("said to hold (%s), but a point reaches %v of %v", got.Method, most, bound)
		}
		if got.Verdict == Violated {
			if f, _ := n.Forward(got.Witness); f[0]-f[1] < bound {
				t.Fatalf("the witness reaches %v of %v", f[0]-f[1], bound)
			}
		}
		if got.Verdict == Unknown && most >= bound {
			t.Errorf("random points violate what the attack did not: %v of %v", most, bound)
		}
	}
	if counts[Holds] < 10 || counts[Violated] < 10 {
		t.Errorf("%v: too few to show anything", counts)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "0 inputs",
		header + "(assert (>= Y_0 Y_7))":       "line 9: Y_7 is not declared",
		header + "(assert (>= (* Y_0 Y_1) 0))": "not linear",
		header + "(assert (>= (+ X_0 Y_1) 0))": "neither on one input",
		header + "(assert (= Y_0 0))":          "are understood",
		header + "(assert (>= Y_0 1e999999))":  "neither a number",
		header + "(assert (>= Y_0 0)":          "cut off",
		header + "(assert (>= Y_0 0)))":        "not opened",
		header + "(check-sat)":                 "declare-const and assert",
		header + "(declare-const X_5 Real)":    "expected X_2",
		"(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= X_0 1))(assert (<= Y_0 1))": "no lower",
		strings.Repeat("(", 100): "open brackets",
		"(vnnlib-version <2.0>)": "line 1: (vnnlib-version <2.0>): this file is of VNN-LIB 2.0",
	} {
		if _, err := parseFrom("p.vnnlib", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
	p := parse(t, header+"(assert (>= Y_0 0))")
	b := feedforward.NewBuilder(3)
	n, _ := b.Network(b.Dense(0, 3, make([]float64, 9), nil))
	if _, err := Decide(t.Context(), n, p, Options{}); err == nil || !strings.Contains(err.Error(), "3 inputs") {
		t.Errorf("a network of another size: %v", err)
	}
}

// Ends of boxes that float64 does not hold are rounded outwards.
func TestBoxesAreRoundedOutwards(t *testing.T) {
	p := parse(t, header+"(assert (>= Y_0 0.1))")
	b := p.Cases[0].Box
	if !(b.Lower[0] < 0.4) || !(b.Upper[0] > 0.6) && b.Upper[0] != 0.6 || p.Cases[0].Conditions[0].Bound < -0.1 {
		t.Errorf("%v, %+v", b, p.Cases[0].Conditions)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(header + "(assert (>= Y_0 Y_1))")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseFrom("p", strings.NewReader(text))
		if err != nil {
			return
		}
		for _, c := range p.Cases {
			for i, lo := range c.Box.Lower {
				if !(lo <= c.Box.Upper[i]) {
					t.Errorf("a box with crossed ends")
				}
			}
		}
	})
}
