package lines

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestProbit(t *testing.T) {
	// Spec of the printed digits: standard tables of the normal distribution.
	for p, want := range map[float64]float64{0.5: 0, 0.75: 0.67448975019608, 0.9: 1.2815515655446, 0.95: 1.6448536269514722, 0.975: 1.959963984540054, 0.99: 2.3263478740408408, 0.001: -3.090232306167813} {
		if got := Probit(p); math.Abs(got-want) > 1e-12 {
			t.Errorf("Probit(%v) = %.16f; expected %.16f", p, got, want)
		}
	}
	for p := 0.0005; p < 1; p += 0.0005 {
		if d := Phi(Probit(p)) - p; math.Abs(d) > 1e-12 {
			t.Errorf("Phi(Probit(%v)) is off by %g", p, d)
		}
		if d := Probit(p) + Probit(1-p); math.Abs(d) > 1e-12 {
			t.Errorf("Probit is not odd at %v: %g", p, d)
		}
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if !math.IsNaN(Probit(p)) {
			t.Errorf("Probit(%v) = %v", p, Probit(p))
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		clip Clip
		a    Accuracy
		want float64
	}{
		{Clip{}, Accuracy{0, 7500}, 1.0 / 15000}, {Clip{}, Accuracy{1, 100}, 0.995}, {Clip{}, Accuracy{0.3, 100}, 0.3}, {Clip{Share: 0.0005}, Accuracy{0, 7500}, 0.0005}, {Clip{Share: 0.01}, Accuracy{1, 0}, 0.99},
	} {
		if got, err := c.clip.share(c.a); err != nil || got != c.want {
			t.Errorf("%v of %v: %v, %v; expected %v", c.clip, c.a, got, err, c.want)
		}
	}
	for _, a := range []Accuracy{{0, 0}, {1, 0}, {-0.1, 10}, {1.1, 10}, {math.NaN(), 10}, {0.5, -1}} {
		if got, err := (Clip{}).share(a); err == nil {
			t.Errorf("%v: %v", a, got)
		}
	}
}

// Least squares against rational arithmetic.
func TestLeastSquaresIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 3 + rng.IntN(8)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(rng.IntN(2001)-1000)/256, float64(rng.IntN(2001)-1000)/256
		}
		if constant(x) || constant(y) {
			continue
		}
		sum := func(f func(i int) *big.Rat) *big.Rat {
			s := new(big.Rat)
			for i := range x {
				s.Add(s, f(i))
			}
			return s
		}
		rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
		size := big.NewRat(int64(n), 1)
		mean := func(v []float64) *big.Rat {
			return new(big.Rat).Quo(sum(func(i int) *big.Rat { return rat(v[i]) }), size)
		}
		mx, my := mean(x), mean(y)
		moment := func(a []float64, ma *big.Rat, b []float64, mb *big.Rat) *big.Rat {
			return sum(func(i int) *big.Rat {
				return new(big.Rat).Mul(new(big.Rat).Sub(rat(a[i]), ma), new(big.Rat).Sub(rat(b[i]), mb))
			})
		}
		sxx, syy, sxy := moment(x, mx, x, mx), moment(y, my, y, my), moment(x, mx, y, my)
		slope := new(big.Rat).Quo(sxy, sxx)
		intercept := new(big.Rat).Sub(my, new(big.Rat).Mul(slope, mx))
		r2 := new(big.Rat).Quo(new(big.Rat).Mul(sxy, sxy), new(big.Rat).Mul(sxx, syy))
		l, err := LeastSquares(x, y)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			got  float64
			want *big.Rat
		}{{"slope", l.Slope, slope}, {"intercept", l.Intercept, intercept}, {"R²", l.R2, r2}} {
			want, _ := c.want.Float64()
			if math.Abs(c.got-want) > 1e-11*(1+math.Abs(want)) {
				t.Fatalf("%s of %v, %v: %.17g; expected %.17g", c.name, x, y, c.got, want)
			}
		}
		back, err := LeastSquares(y, x)
		if err != nil {
			t.Fatal(err)
		}
		if d := l.Slope*back.Slope - l.R2; math.Abs(d) > 1e-11 { // swapping the axes
			t.Fatalf("slopes both ways multiply to R² plus %g", d)
		}
	}
}

func TestLeastSquaresEdges(t *testing.T) {
	l, err := LeastSquares([]float64{1, 2, 3}, []float64{5, 5, 5})
	if err != nil || l != (Line{0, 5, 0, 3}) {
		t.Errorf("constant y: %+v, %v", l, err)
	}
	var few *FewPoints
	if _, err := LeastSquares([]float64{1, 1, 1}, []float64{1, 2, 3}); !errors.As(err, &few) || !few.EqualX {
		t.Errorf("one x: %v", err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := LeastSquares([]float64{1, 2, bad}, []float64{1, 2, 3}); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
	if _, err := LeastSquares([]float64{1, 2, 3}, []float64{1, 2}); err == nil {
		t.Error("lengths that differ were taken")
	}
}

// Points that lie on a line but for known errors in both axes: Deming's line is the truth, least squares too flat by the
// reliability.
func TestDemingAndReliability(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, sd = 40_000, 0.5 // the true x is uniform on [0, 3], variance .75: reliability .75/(.75+.25) = .75
	x, y, v := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		u := 3 * rng.Float64()
		x[i], y[i], v[i] = u+sd*rng.NormFloat64(), 2*u-1+2*sd*rng.NormFloat64(), sd*sd
	}
	ols, _ := LeastSquares(x, y)
	d, err := Deming(x, y, 4)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(d.Slope-2) > 0.03 || math.Abs(d.Intercept+1) > 0.05 || math.Abs(ols.Slope-1.5) > 0.03 || math.Abs(reliability(x, v)-0.75) > 0.01 {
		t.Errorf("Deming %+v, least squares %+v, reliability %v", d, ols, reliability(x, v))
	}
	if _, err := Deming(x, y, 0); err == nil {
		t.Error("a ratio of 0 was taken")
	}
}

// Influence against refitting, and Cook's distance against its definition as the shift of all fitted values.
func TestInfluences(t *testing.T) {
	x, y := []float64{0, 1, 2, 3, 10}, []float64{0.1, 0.9, 2.2, 2.8, 4}
	line, influences, err := Influences(x, y)
	if err != nil {
		t.Fatal(err)
	}
	sse, trace := 0.0, 0.0
	for i := range x {
		e := y[i] - line.At(x[i])
		sse += e * e
		trace += influences[i].Leverage
	}
	if math.Abs(trace-2) > 1e-12 {
		t.Errorf("leverages sum to %v; the trace of the hat matrix is 2", trace)
	}
	for i, p := range influences {
		shift := 0.0
		for j := range x {
			d := line.At(x[j]) - p.Without.At(x[j])
			shift += d * d
		}
		if want := shift / (2 * sse / 3); math.Abs(p.Cook-want) > 1e-9*(1+want) {
			t.Errorf("point %d: Cook's distance %v; by refitting %v", i, p.Cook, want)
		}
	}
	if influences[4].Cook < 4*influences[3].Cook {
		t.Error("the outlier is not the most influential point")
	}
}

func TestEffectiveRobustness(t *testing.T) {
	line := Line{Slope: 0.8, Intercept: -0.3}
	x := Accuracy{0.9, 1000}
	on := Accuracy{Phi(line.At(Probit(0.9))), 0}
	e, err := EffectiveRobustness(line, x, on, Clip{})
	if err != nil || math.Abs(e.Accuracy) > 1e-12 || math.Abs(e.Residual) > 1e-12 {
		t.Errorf("a model on the line: %+v, %v", e, err)
	}
	e, _ = EffectiveRobustness(line, x, Accuracy{on.Share + 0.05, 0}, Clip{})
	if math.Abs(e.Accuracy-0.05) > 1e-12 || e.Residual <= 0 {
		t.Errorf("a model five points above: %+v", e)
	}
}
