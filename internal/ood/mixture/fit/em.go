// Package fit fits the two mixtures of CCU to data: principal components, then rounds of expectation
// and maximization.
package fit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/certspec/certspec/internal/ood/mixture"
)

// EM fits a mixture of so many components to points of whitened coordinates. Components are round, with a variance
// each. It takes so many rounds from points drawn by the seed, several from one where there are fewer. At the end every
// variance is their mean, as CCU begins with.
//
// Errors: fewer than two points, or equal ones.
func EM(points [][]float64, components, rounds int, seed uint64) (*mixture.Mixture, error) {
	n := len(points)
	if components < 1 || n < 2 {
		return nil, fmt.Errorf("mixture: %d components of %d points; expected two points at least", components, n)
	}
	d := len(points[0])
	order := rand.New(rand.NewPCG(seed, uint64(components))).Perm(n)
	means := mat.NewDense(components, d, nil)
	for k := range components {
		means.SetRow(k, points[order[k%n]])
	}
	x := mat.NewDense(n, d, nil)
	squares := make([]float64, n)
	total := make([]float64, d)
	for i, p := range points {
		x.SetRow(i, p)
		for j, v := range p {
			squares[i] += v * v
			total[j] += v / float64(n)
		}
	}
	spread := 0.0 // mean variance of a value
	for i := range points {
		spread += squares[i] / float64(n*d)
	}
	for _, v := range total {
		spread -= v * v / float64(d)
	}
	if !(spread > 0) {
		return nil, fmt.Errorf("mixture: the variance of %d points is %v; expected points that differ", n, spread)
	}
	least := floor * spread
	m := &mixture.Mixture{LogVariances: make([]float64, components), LogWeights: make([]float64, components)}
	for k := range components {
		m.LogVariances[k], m.LogWeights[k] = math.Log(spread), -math.Log(float64(components))
	}
	var next mat.Dense
	shares, far := mat.NewDense(n, components, nil), mat.NewDense(n, components, nil)
	for range rounds {
		squaredDistances(far, x, means, squares)
		counts, distances := make([]float64, components), make([]float64, components)
		for i := range n {
			row := shares.RawRowView(i)
			share(m, row, far.RawRowView(i), d)
			for k, v := range row {
				counts[k] += v
			}
		}
		next.Mul(shares.T(), x)
		for k := range components {
			if counts[k] < 1e-3 { // nobody's: it stays where it is
				m.LogWeights[k] = math.Log(1e-3 / float64(n))
				continue
			}
			for j := range d {
				means.Set(k, j, next.At(k, j)/counts[k])
			}
			m.LogWeights[k] = math.Log(counts[k] / float64(n))
		}
		squaredDistances(far, x, means, squares)
		for k := range components {
			for i := range n {
				distances[k] += shares.At(i, k) * far.At(i, k)
			}
			if counts[k] >= 1e-3 {
				m.LogVariances[k] = math.Log(max(distances[k]/(counts[k]*float64(d)), least))
			}
		}
	}
	mean, weights := 0.0, 0.0
	for k := range components {
		mean += math.Exp(m.LogVariances[k]) / float64(components)
		weights += math.Exp(m.LogWeights[k])
	}
	for k := range components {
		m.LogVariances[k] = math.Log(mean)
		m.LogWeights[k] -= math.Log(weights)
		m.Means = append(m.Means, append([]float64(nil), means.RawRowView(k)...))
	}
	return m, nil
}

// squaredDistances are the squared distances of each point, a row of x with its square, from each mean.
func squaredDistances(far, x, means *mat.Dense, squares []float64) {
	far.Mul(x, means.T())
	for k := range means.RawMatrix().Rows {
		norm := 0.0
		for _, v := range means.RawRowView(k) {
			norm += v * v
		}
		for i, square := range squares {
			far.Set(i, k, max(square-2*far.At(i, k)+norm, 0))
		}
	}
}

// share is the expectation for a point of d values: the probability of each component, by the
// squared distances from their means.
func share(m *mixture.Mixture, row, far []float64, d int) {
	top := math.Inf(-1)
	for k := range row {
		row[k] = m.LogWeights[k] - float64(d)/2*m.LogVariances[k] - far[k]/2*math.Exp(-m.LogVariances[k])
		top = max(top, row[k])
	}
	sum := 0.0
	for k := range row {
		row[k] = math.Exp(row[k] - top)
		sum += row[k]
	}
	for k := range row {
		row[k] /= sum
	}
}

// Apart raises the variances of out to four times the largest of in, where they are less. This is CCU's condition for a
// confidence of 1/K far from all data.
func Apart(in, out *mixture.Mixture) {
	most := math.Inf(-1)
	for _, v := range in.LogVariances {
		most = max(most, v)
	}
	for k := range out.LogVariances {
		out.LogVariances[k] = max(out.LogVariances[k], most+math.Log(4))
	}
}
