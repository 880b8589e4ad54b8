package feedforward

import (
	"math"
	"math/rand/v2"
	"testing"
)

// posterior is y_k = ln(1 + K·e^h·p_k) for p = softmax(x₁..x_K), ln p_k at least −100, and h = x₀: up to a constant, the logarithm of σ(h)·p_k + (1 − σ(h))/K.
func posterior(t *testing.T, classes int, scale float64) *Network {
	t.Helper()
	b := NewBuilder(classes + 1)
	select0, rest := make([]float64, classes+1), make([]float64, classes*(classes+1))
	select0[0] = 1
	for k := range classes {
		rest[k*(classes+1)+k+1] = scale
	}
	h := b.Repeat(b.Dense(0, 1, select0, []float64{math.Log(float64(classes))}), classes)
	n, err := b.Network(b.Softplus(b.Sum([]float64{1, 1}, h, b.Clip(b.LogSoftmax(b.Dense(0, classes, rest, nil)), -100, 0))))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The values equal the formula's, the gradient equals differences, no sample exceeds the bounds, and where
// nothing is known of the classifier the bound is π̄ + (1 − π̄)/K of the largest h (Meinke, Bitterwolf and Hein
// 2022).
func TestPosterior(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const classes = 4
	n := posterior(t, classes, 3)
	sigma := func(h float64) float64 { return 1 / (1 + math.Exp(-h)) }
	confidence := func(x []float64) float64 {
		sum, top := 0.0, 0.0
		for _, v := range x[1:] {
			sum += math.Exp(3 * v)
			top = max(top, math.Exp(3*v))
		}
		return sigma(x[0])*top/sum + (1-sigma(x[0]))/classes
	}
	for range 50 {
		x := make([]float64, classes+1)
		box := newBox(classes + 1)
		for i := range x {
			x[i] = 2 * rng.NormFloat64()
			width := rng.Float64()
			box.Lower[i], box.Upper[i] = x[i]-width, x[i]+width
		}
		f, g, err := n.VectorJacobian(x, func([]float64) []float64 { return []float64{1, -0.5, 2, 0.25} })
		if err != nil {
			t.Fatal(err)
		}
		if _, log := LogConfidence(f); math.Abs(log-math.Log(confidence(x))) > 1e-12 {
			t.Fatalf("ln Conf %v, want %v", log, math.Log(confidence(x)))
		}
		for i := range x {
			const h = 1e-6
			weighted := func(d float64) (s float64) {
				old := x[i]
				x[i] += d
				f, _ := n.Forward(x)
				x[i] = old
				return f[0] - 0.5*f[1] + 2*f[2] + 0.25*f[3]
			}
			if want := (weighted(h) - weighted(-h)) / (2 * h); math.Abs(g[i]-want) > 1e-8*(1+math.Abs(want)) {
				t.Fatalf("gradient %v, differences %v", g[i], want)
			}
		}
		for _, a := range []Arithmetic{Plain, Rigorous} {
			for _, m := range []Method{IBP, CROWN} {
				c, err := n.Confidence(t.Context(), x, box, m, a)
				if err != nil {
					t.Fatal(err)
				}
				for range 200 {
					z := make([]float64, len(x))
					for i := range z {
						z[i] = box.Lower[i] + rng.Float64()*(box.Upper[i]-box.Lower[i])
						if rng.IntN(2) == 0 {
							z[i] = []float64{box.Lower[i], box.Upper[i]}[rng.IntN(2)]
						}
					}
					if v := math.Log(confidence(z)); v > c.LogUpper+1e-12 || v < c.LogLower-1e-12 {
						t.Fatalf("%s, %s: ln Conf %v outside [%v, %v]", a, m, v, c.LogLower, c.LogUpper)
					}
				}
				if top := sigma(box.Upper[0]); c.LogUpper > math.Log(top+(1-top)/classes)+1e-4 {
					t.Fatalf("%s, %s: %v, more than π̄ + (1 − π̄)/K with π̄ = %v", a, m, c.LogUpper, top)
				}
			}
		}
	}
	// A classifier that can say anything.
	wild := posterior(t, classes, 1e30)
	box := newBox(classes + 1)
	for i := range box.Lower {
		box.Lower[i], box.Upper[i] = -1, 1
	}
	c, err := wild.Confidence(t.Context(), make([]float64, classes+1), box, IBP, Rigorous)
	if want := math.Log(sigma(1) + (1-sigma(1))/classes); err != nil || math.Abs(c.LogUpper-want) > 1e-4 || c.LogUpper < want {
		t.Errorf("bound %v, %v; want %v", c.LogUpper, err, want)
	}
}
