package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/pixel"

	"gonum.org/v1/gonum/mat"
)

// The bound on the confidence of ten classes: b = 0, .25, 1 and ∞ give .1, .28, .55 and 1, and values far away lose no digits.
func TestConfidenceOfOdds(t *testing.T) {
	for b, want := range map[float64]float64{0: .1, .25: .28, 1: .55, math.Inf(1): 1} {
		if got := math.Exp(LogConfidence(math.Log(b), 10)); math.Abs(got-want) > 1e-14 {
			t.Errorf("b = %v: %v, want %v", b, got, want)
		}
	}
	// 1 − Conf = (1 − 1/K)/(1 + b)
	if got, want := LogConfidence(50, 10), -.9*math.Exp(-50); math.Abs(got/want-1) > 1e-10 {
		t.Errorf("ln of the bound at b = e^50 is %v, want %v", got, want)
	}
}

func drawn(rng *rand.Rand, d int, scale float64) *Mixture {
	m := &Mixture{}
	for range 3 {
		mean := make([]float64, d)
		for j := range mean {
			mean[j] = scale * rng.NormFloat64()
		}
		m.Means = append(m.Means, mean)
		m.LogVariances = append(m.LogVariances, .3*rng.NormFloat64())
		m.LogWeights = append(m.LogWeights, -math.Log(3))
	}
	return m
}

// No point of a Mahalanobis ball exceeds the bound, which at a radius of 0 is the confidence of a classifier that is sure, and which grows
// with the radius; the radius of a target is where it is met.
func TestBoundHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const d, k = 4, 10
	for range 50 {
		in, out := drawn(rng, d, 2), drawn(rng, d, 2)
		Apart(in, out)
		x := make([]float64, d)
		for j := range x {
			x[j] = 2 * rng.NormFloat64()
		}
		pi, po := in.LogDensity(x, 0), out.LogDensity(x, 0)
		direct := (math.Exp(pi) + math.Exp(po)/k) / (math.Exp(pi) + math.Exp(po))
		if got := math.Exp(LogConfidence(LogOdds(in, out, x, 0), k)); math.Abs(got-direct) > 1e-12 {
			t.Fatalf("at the point itself %v, want %v", got, direct)
		}
		last := math.Inf(-1)
		for _, r := range []float64{0, .1, .5, 2} {
			bound := LogOdds(in, out, x, r)
			if bound < last {
				t.Fatalf("the bound falls from %v to %v", last, bound)
			}
			last = bound
			for range 200 {
				z, norm := make([]float64, d), 0.0
				for j := range z {
					z[j] = rng.NormFloat64()
					norm += z[j] * z[j]
				}
				for j := range z {
					z[j] = x[j] + r*z[j]/math.Sqrt(norm)*math.Pow(rng.Float64(), .25)
				}
				if got := LogOdds(in, out, z, 0); got > bound+1e-12 {
					t.Fatalf("within %v: %v, bound %v", r, got, bound)
				}
			}
		}
		if r := radius(in, out, x, k, 1.1); r > 0 {
			target := math.Log(.1 / 8.9)
			if LogOdds(in, out, x, r) > target || LogOdds(in, out, x, r*(1+1e-9)+1e-9) < target {
				t.Errorf("radius %v: %v and %v, target %v", r, LogOdds(in, out, x, r), LogOdds(in, out, x, r*(1+1e-9)), target)
			}
		}
	}
}

// For C = I a change of r in every value is a distance of r·√d: 8.4 on MNIST with r = .3.
func TestBallOfTheUnitMetric(t *testing.T) {
	const d = 784
	m := &Metric{Scales: make([]float64, d), Vectors: mat.NewDense(d, d, nil)}
	for j := range d {
		m.Scales[j] = 1
		m.Vectors.Set(j, j, 1)
	}
	if got := m.Ball(.3); math.Abs(got-8.4) > 1e-6 {
		t.Errorf("%v, want 8.4", got)
	}
}

// No corner of a box leaves the ball, in a metric of points of very different spread. With the largest eigenvalue of C, as the paper prints
// before (15), some do: the guarantee would be false.
func TestLargestEigenvalueOfTheInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	points := make([][]float64, 400)
	for i := range points {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		points[i] = []float64{a + .1*b, a - .1*b, .01 * rng.NormFloat64(), .2 * rng.NormFloat64()}
	}
	for _, reading := range Readings() {
		m, err := Fit(points, reading)
		if err != nil {
			t.Fatal(err)
		}
		const r = .3
		d := len(m.Scales)
		ball, printed, violated := m.Ball(r), r*math.Sqrt(float64(d)*m.Scales[0]), false
		for corner := range 1 << d {
			z := make([]float64, d)
			for j := range z {
				z[j] = m.Mean[j] + r
				if corner>>j&1 == 1 {
					z[j] = m.Mean[j] - r
				}
			}
			far := 0.0
			for _, v := range m.Whiten([][]float64{z})[0] {
				far += v * v
			}
			far = math.Sqrt(far)
			if far > ball {
				t.Errorf("%s: a corner is %v away, outside the ball of %v", reading, far, ball)
			}
			violated = violated || far > printed
		}
		if reading == Covariance && !violated {
			t.Errorf("no corner leaves the ball of the printed form, %v: the test shows nothing", printed)
		}
	}
}

// EM finds groups that lie apart, with their variance and weights, and the readings are singular values and eigenvalues of the covariance.
func TestFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var points [][]float64
	for i := range 600 {
		c := []float64{0, 0, 0}
		if i%3 == 0 {
			c = []float64{20, 0, 5}
		}
		for j := range c {
			c[j] += .5 * rng.NormFloat64()
		}
		points = append(points, c)
	}
	m, err := EM(points, 2, 30, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	if m.Means[1][0] > m.Means[0][0] {
		first = 1
	}
	if math.Abs(m.Means[first][0]-20) > .2 || math.Abs(m.Means[first][2]-5) > .2 || math.Abs(math.Exp(m.LogWeights[first])-1./3) > .01 || math.Abs(math.Exp(m.LogVariances[0])-.25) > .03 || m.LogVariances[0] != m.LogVariances[1] {
		t.Errorf("%+v", m)
	}
	c, _ := Fit(points, Covariance)
	s, _ := Fit(points, Singular)
	for j := range c.Scales {
		if want := math.Sqrt(c.Scales[j] * 600); math.Abs(s.Scales[j]-want) > 1e-9*want {
			t.Errorf("singular value %v, want %v", s.Scales[j], want)
		}
	}
	white, variance := c.Whiten(points), 0.0
	for _, p := range white {
		variance += p[1] * p[1] / 600
	}
	if math.Abs(variance-1) > 1e-9 {
		t.Errorf("variance %v in whitened coordinates", variance)
	}
	for _, bad := range []func() error{
		func() error { _, err := EM(points[:1], 2, 1, 1); return err },
		func() error { _, err := Fit(points[:1], Singular); return err },
		func() error { _, err := Fit([][]float64{{1}, {1}}, Singular); return err },
		func() error { _, err := Fit(points, "other"); return err },
	} {
		if bad() == nil {
			t.Error("no error")
		}
	}
	in, out := &Mixture{LogVariances: []float64{0, 1}}, &Mixture{LogVariances: []float64{-1, 5}}
	if Apart(in, out); out.LogVariances[0] != 1+math.Log(4) || out.LogVariances[1] != 5 {
		t.Errorf("%v", out.LogVariances)
	}
}

// What a network keeps of a metric gives its distances: the ball of (15), and the one that the paper prints.
func TestPosteriorBalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	points := make([][]float64, 50)
	for i := range points {
		points[i] = []float64{rng.NormFloat64(), 3 * rng.NormFloat64(), 0.2 * rng.NormFloat64()}
	}
	m, err := Fit(points, Covariance)
	if err != nil {
		t.Fatal(err)
	}
	in := &Mixture{Means: [][]float64{{0, 0, 0}}, LogVariances: []float64{0}, LogWeights: []float64{0}}
	out := &Mixture{Means: in.Means, LogVariances: []float64{math.Log(4)}, LogWeights: []float64{0}}
	shift := m.Whiten([][]float64{{0, 0, 0}})[0]
	p, err := NewPosterior(m.Transform(), shift, in, out, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Ball(0.3), m.Ball(0.3); math.Abs(got-want) > 1e-9*want {
		t.Errorf("ball %v, want %v", got, want)
	}
	if got, want := p.Printed(0.3), 0.3*math.Sqrt(3*m.Scales[0]); math.Abs(got-want) > 1e-9*want {
		t.Errorf("printed %v, want %v", got, want)
	}
	for j, v := range p.White(points[7]) {
		if want := m.Whiten(points[7:8])[0][j]; math.Abs(v-want) > 1e-9 {
			t.Errorf("coordinate %d: %v, want %v", j, v, want)
		}
	}
	far := []float64{5, -40, 2}
	reach := p.Reach(far, 1.1)
	if reach <= 0 || p.LogBound(far, reach) > math.Log(0.11) || p.LogBound(far, reach*1.001) < math.Log(0.11) {
		t.Errorf("reach %v, bound %v there", reach, p.LogBound(far, reach))
	}
	if _, err := NewPosterior(m.Transform(), shift[:2], in, out, 10); err == nil {
		t.Error("a shift of two values was taken")
	}

	images := &imageset.Images{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 3}, IDs: []int{0, 1}, Labels: []int{0, 1}, Pixels: []uint8{0, 0, 0, 255, 255, 255}}
	s, err := p.Survey(t.Context(), images.Indexed(), 0.01, 1.1)
	if err != nil {
		t.Fatal(err)
	}
	black, white := math.Exp(p.LogBound([]float64{0, 0, 0}, 0.01)), math.Exp(p.LogBound([]float64{1, 1, 1}, 0.01))
	if math.Abs(s.Mean-(black+white)/2) > 1e-12 || s.Least != min(black, white) || s.Bounds[1] != white || s.Distance != p.Ball(0.01) || s.Reach != max(p.Reach([]float64{0, 0, 0}, 1.1), p.Reach([]float64{1, 1, 1}, 1.1)) {
		t.Errorf("%+v of bounds %v and %v", s, black, white)
	}
	for name, wrong := range map[string][2]float64{"eps": {1.5, 1.1}, "a factor of 1": {.1, 1}, "a factor above K": {.1, 11}} {
		if _, err := p.Survey(t.Context(), images.Indexed(), wrong[0], wrong[1]); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	images.Shape.Channels = 1
	if _, err := p.Survey(t.Context(), images.Indexed(), .1, 1.1); err == nil {
		t.Error("images of one value pass")
	}
}
