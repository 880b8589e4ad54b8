package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/ood/mixture"
	"github.com/certspec/certspec/pixel"
)

// posterior is one of a metric, with two mixtures of one component.
func posterior(t *testing.T, m *Metric) *mixture.Posterior {
	t.Helper()
	in := &mixture.Mixture{Means: [][]float64{m.Mean}, LogVariances: []float64{0}, LogWeights: []float64{0}}
	out := &mixture.Mixture{Means: in.Means, LogVariances: []float64{math.Log(4)}, LogWeights: []float64{0}}
	p, err := mixture.NewPosterior(m.Transform(), make([]float64, len(m.Scales)), in, out, 10)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ball is the distance that no change of at most r in every value exceeds, by C⁻¹ = V·S⁻¹·Vᵀ.
func ball(m *Metric, r float64) float64 {
	d := len(m.Scales)
	least := m.Scales[d-1]
	scaled := mat.NewDense(d, d, nil) // C⁻¹ = V·S⁻¹·Vᵀ
	for i := range d {
		for j := range d {
			scaled.Set(i, j, m.Vectors.At(i, j)/m.Scales[j])
		}
	}
	var inverse mat.Dense
	inverse.Mul(scaled, m.Vectors.T())
	sum := 0.0
	for i := range d {
		for j := range d {
			sum += math.Abs(inverse.At(i, j))
		}
	}
	return r * min(math.Sqrt(float64(d)/least), math.Sqrt(sum)) * (1 + 1e-9)
}

// For C = I a change of r in every value is a distance of r·√d: 8.4 on MNIST with r = .3.
func TestBallOfTheUnitMetric(t *testing.T) {
	const d = 784
	m := &Metric{Mean: make([]float64, d), Scales: make([]float64, d), Vectors: mat.NewDense(d, d, nil)}
	for j := range d {
		m.Scales[j] = 1
		m.Vectors.Set(j, j, 1)
	}
	if got := posterior(t, m).Ball(.3); math.Abs(got-8.4) > 1e-6 {
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
		m, err := NewMetric(points, reading)
		if err != nil {
			t.Fatal(err)
		}
		const r = .3
		d := len(m.Scales)
		most, printed, violated := posterior(t, m).Ball(r), r*math.Sqrt(float64(d)*m.Scales[0]), false
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
			if far > most {
				t.Errorf("%s: a corner is %v away, outside the ball of %v", reading, far, most)
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
	c, _ := NewMetric(points, Covariance)
	s, _ := NewMetric(points, Singular)
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
		func() error { _, err := NewMetric(points[:1], Singular); return err },
		func() error { _, err := NewMetric([][]float64{{1}, {1}}, Singular); return err },
		func() error { _, err := NewMetric(points, "other"); return err },
	} {
		if bad() == nil {
			t.Error("no error")
		}
	}
	in, out := &mixture.Mixture{LogVariances: []float64{0, 1}}, &mixture.Mixture{LogVariances: []float64{-1, 5}}
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
	m, err := NewMetric(points, Covariance)
	if err != nil {
		t.Fatal(err)
	}
	in := &mixture.Mixture{Means: [][]float64{{0, 0, 0}}, LogVariances: []float64{0}, LogWeights: []float64{0}}
	out := &mixture.Mixture{Means: in.Means, LogVariances: []float64{math.Log(4)}, LogWeights: []float64{0}}
	shift := m.Whiten([][]float64{{0, 0, 0}})[0]
	p, err := mixture.NewPosterior(m.Transform(), shift, in, out, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Ball(0.3), ball(m, 0.3); math.Abs(got-want) > 1e-9*want {
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
	if _, err := mixture.NewPosterior(m.Transform(), shift[:2], in, out, 10); err == nil {
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
