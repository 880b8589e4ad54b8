package feedforward

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The first affine layers are exact on a segment: W = (1 −1; 1 1), d = (1, 1)/√2 gives the radii 0 and √2·ε, where the box around the segment
// gives √2·ε twice.
func TestSegmentOfTheFirstLayer(t *testing.T) {
	b := NewBuilder(2)
	n, err := b.Network(b.Scale(b.Dense(0, 2, []float64{1, -1, 1, 1}, []float64{0, -1}), []float64{2, -1}, []float64{0, 0.5}, nil))
	if err != nil {
		t.Fatal(err)
	}
	s := Segment{Centre: []float64{0.75, 0.5}, Direction: []float64{math.Sqrt2 / 2, math.Sqrt2 / 2}, Epsilon: 3}
	out, err := n.Intervals(s, Plain)
	if err != nil {
		t.Fatal(err)
	}
	want := Box{Lower: []float64{0.5, 0.25 - 3*math.Sqrt2}, Upper: []float64{0.5, 0.25 + 3*math.Sqrt2}}
	for i := range want.Lower {
		if !near(out.Lower[i], want.Lower[i], 1e-14) || !near(out.Upper[i], want.Upper[i], 1e-14) {
			t.Errorf("output %d in [%v, %v]; expected [%v, %v]", i, out.Lower[i], out.Upper[i], want.Lower[i], want.Upper[i])
		}
	}
	rigorous, err := n.Intervals(s, Rigorous)
	if err != nil || !(rigorous.Lower[0] < 0.5 && rigorous.Upper[0] > 0.5) || rigorous.Upper[0]-rigorous.Lower[0] > 1e-4 {
		t.Errorf("rigorous: %v, %v", rigorous, err)
	}
	// An affine network of two classes meets its bound at an end.
	c, err := n.Confidence(t.Context(), s.Centre, s, IBP, Plain)
	if err != nil {
		t.Fatal(err)
	}
	most := math.Inf(-1)
	for _, at := range []float64{-3, 3} {
		f, _ := n.Forward(s.at(at))
		_, log := LogConfidence(f)
		most = max(most, log)
	}
	if !near(c.LogUpper, most, 1e-12) {
		t.Errorf("ln of the bound %v; at the ends %v", c.LogUpper, most)
	}
}

func (s Segment) at(t float64) []float64 {
	z := make([]float64, len(s.Centre))
	for i, x := range s.Centre {
		z[i] = x + t*s.Direction[i]
	}
	return z
}

func TestSegmentHoldsItsPoints(t *testing.T) {
	draws := 60
	if testing.Short() {
		draws = 15
	}
	tighter := 0
	for seed := range uint64(draws) {
		rng := rand.New(rand.NewPCG(seed, 77))
		n := randomNetwork(t, rng, 0.6)
		s := Segment{Centre: uniform(rng, n.InputShape().Size()), Epsilon: 0.5 * rng.Float64()}
		for range s.Centre {
			s.Direction = append(s.Direction, rng.NormFloat64())
		}
		around := Box{}
		for i, x := range s.Centre {
			r := s.Epsilon * math.Abs(s.Direction[i])
			around.Lower, around.Upper = append(around.Lower, x-r), append(around.Upper, x+r)
		}
		for _, m := range []Method{IBP, CROWN, FullCROWN} {
			u, err := n.Differences(t.Context(), s, m, Rigorous)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := n.Differences(t.Context(), s, m, Plain)
			if err != nil {
				t.Fatal(err)
			}
			box, err := n.Differences(t.Context(), around, m, Plain)
			if err != nil {
				t.Fatal(err)
			}
			for i := range u {
				if plain[i] > box[i]+1e-9*(1+math.Abs(box[i])) && m == IBP {
					t.Errorf("seed %d, %s: U[%d] = %v on the segment, %v on the box around it", seed, m, i, plain[i], box[i])
				}
				if u[i] < plain[i] {
					t.Errorf("seed %d, %s: U[%d] = %v rigorous, %v plain", seed, m, i, u[i], plain[i])
				}
				if plain[i] < box[i]-1e-3 {
					tighter++
				}
			}
			for k := range 12 {
				at := s.Epsilon * (2*rng.Float64() - 1)
				if k < 2 {
					at = s.Epsilon * float64(2*k-1)
				}
				z := s.at(at)
				for i, v := range z {
					z[i] = float64(float32(v))
				}
				f, err := n.Forward(z)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range [][]float64{f, n.single32(rng, z)} {
					for i := range u {
						if d := f[i/3] - f[i%3]; i%4 != 0 && d > u[i] {
							t.Fatalf("seed %d, %s: f_%d − f_%d = %v at t = %v, above the bound %v", seed, m, i/3, i%3, d, at, u[i])
						}
					}
				}
			}
		}
	}
	if tighter < draws {
		t.Errorf("only %d bounds are tighter than those of the box around the segment", tighter)
	}
}

func TestSegmentErrors(t *testing.T) {
	n := worked(t)
	x := []float64{0.5, 0.5}
	for name, s := range map[string]Segment{
		"short":    {x, x[:1], 1},
		"negative": {x, x, -1},
		"NaN":      {x, x, math.NaN()},
		"infinite": {x, []float64{0, math.Inf(1)}, 1},
		"overflow": {x, []float64{1e200, 0}, 1e200},
	} {
		if _, err := n.Differences(t.Context(), s, CROWN, Rigorous); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if u, err := n.Differences(t.Context(), Segment{x, []float64{1e100, 0}, 1}, CROWN, Rigorous); err != nil || !math.IsInf(u[1], 1) {
		t.Errorf("values that overflow float32 have the bound %v, %v", u, err)
	}
}
