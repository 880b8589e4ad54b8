package fit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Metric is the distance |C^(-1/2)(x − y)| of the principal components of a set: the eigenvectors of its covariance as
// columns, and the diagonal of C.
type Metric struct {
	Mean    []float64
	Vectors *mat.Dense // d × d
	Scales  []float64  // of C, descending
}

// Reading says what C has for a component.
type Reading string

// The readings: singular values of the centred data matrix, as the released program has them, or
// eigenvalues of the covariance.
const (
	Singular   Reading = "singular"
	Covariance Reading = "covariance"
)

// Readings lists them.
func Readings() []Reading { return []Reading{Singular, Covariance} }

// floor is the least of what stands in C, in parts of the largest.
const floor = 1e-6

// NewMetric is the metric of points. Errors: none, one of other length, all of them equal, an unknown reading.
func NewMetric(points [][]float64, reading Reading) (*Metric, error) {
	if len(points) < 2 || reading != Singular && reading != Covariance {
		return nil, fmt.Errorf("mixture: a metric of %d points with the reading %q; expected two points, and one of %q",
			len(points), reading, Readings())
	}
	n, d := len(points), len(points[0])
	mean := make([]float64, d)
	for i, p := range points {
		if len(p) != d {
			return nil, fmt.Errorf("mixture: point %d has %d values; expected %d", i, len(p), d)
		}
		for j, v := range p {
			mean[j] += v / float64(n)
		}
	}
	centred := mat.NewDense(n, d, nil)
	for i, p := range points {
		for j, v := range p {
			centred.Set(i, j, v-mean[j])
		}
	}
	scatter := mat.NewSymDense(d, nil)
	scatter.SymOuterK(1, centred.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(scatter, true) {
		return nil, fmt.Errorf("mixture: the principal components of %d points of %d values were not found", n, d)
	}
	m := &Metric{Mean: mean, Vectors: mat.NewDense(d, d, nil), Scales: make([]float64, d)}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil) // ascending
	scale := func(v float64) float64 {
		if reading == Covariance {
			return max(v, 0) / float64(n)
		}
		return math.Sqrt(max(v, 0))
	}
	most := scale(values[d-1])
	if !(most > 0) {
		return nil, fmt.Errorf("mixture: all %d points are equal", n)
	}
	for j := range d {
		m.Scales[j] = max(scale(values[d-1-j]), floor*most)
		for i := range d {
			m.Vectors.Set(i, j, vectors.At(i, d-1-j))
		}
	}
	return m, nil
}

// Transform returns C^(-1/2)·Vᵀ as a matrix that images multiply from the left, d × d: coordinates in which the metric
// is the usual one.
func (m *Metric) Transform() *mat.Dense {
	d := len(m.Scales)
	t := mat.NewDense(d, d, nil)
	for i := range d {
		for j := range d {
			t.Set(i, j, m.Vectors.At(i, j)/math.Sqrt(m.Scales[j]))
		}
	}
	return t
}

// Whiten brings points into these coordinates, the mean at 0.
func (m *Metric) Whiten(points [][]float64) [][]float64 {
	n, d := len(points), len(m.Scales)
	centred := mat.NewDense(n, d, nil)
	for i, p := range points {
		for j, v := range p {
			centred.Set(i, j, v-m.Mean[j])
		}
	}
	var white mat.Dense
	white.Mul(centred, m.Transform())
	out := make([][]float64, n)
	for i := range out {
		out[i] = white.RawRowView(i)
	}
	return out
}
