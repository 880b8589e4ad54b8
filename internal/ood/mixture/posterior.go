package mixture

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Posterior is the density side of a trained CCU network: two mixtures in coordinates x·Transform + Shift of images x,
// height × width × channel.
type Posterior struct {
	Transform *mat.Dense // d × d; C⁻¹ is its product with its own transpose
	Shift     []float64
	In, Out   *Mixture
	Classes   int

	inverse, sum float64 // the largest eigenvalue of C⁻¹, and Σ_ij |C⁻¹_ij|
	smallest     float64 // eigenvalue of C⁻¹
}

// NewPosterior checks that the parts fit together and finds the eigenvalues of C⁻¹.
func NewPosterior(transform *mat.Dense, shift []float64, in, out *Mixture, classes int) (*Posterior, error) {
	d := len(shift)
	if rows, cols := transform.Dims(); rows != d || cols != d || classes < 2 {
		return nil, fmt.Errorf("mixture: a transform of %d × %d for points of %d values and %d classes; expected a "+
			"square of them, and two classes", rows, cols, d, classes)
	}
	for _, m := range []*Mixture{in, out} {
		for _, mean := range m.Means {
			if len(mean) != d || len(m.LogVariances) != len(m.Means) || len(m.LogWeights) != len(m.Means) {
				return nil, fmt.Errorf("mixture: a component with %d values, %d variances and %d weights of %d "+
					"components; expected %d values", len(mean), len(m.LogVariances), len(m.LogWeights), len(m.Means),
					d)
			}
		}
	}
	p := &Posterior{Transform: transform, Shift: shift, In: in, Out: out, Classes: classes}
	inverse := mat.NewSymDense(d, nil)
	inverse.SymOuterK(1, transform)
	for i := range d {
		for j := range d {
			p.sum += math.Abs(inverse.At(i, j))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(inverse, false) {
		return nil, fmt.Errorf("mixture: the eigenvalues of a metric of %d values were not found", d)
	}
	values := eigen.Values(nil) // ascending
	p.smallest, p.inverse = values[0], values[d-1]
	return p, nil
}

// White are an image's coordinates.
func (p *Posterior) White(x []float64) []float64 {
	var w mat.VecDense
	w.MulVec(p.Transform.T(), mat.NewVecDense(len(x), x))
	out := w.RawVector().Data
	for j := range out {
		out[j] += p.Shift[j]
	}
	return out
}

// Ball is the distance of (15), as Metric.Ball: no change of at most r in every value exceeds it.
func (p *Posterior) Ball(r float64) float64 { return ball(r, len(p.Shift), p.inverse, p.sum) }

// Printed returns the distance as the paper prints it, with the largest eigenvalue of C in place of that of C⁻¹: no
// guarantee.
func (p *Posterior) Printed(r float64) float64 {
	return r * math.Sqrt(float64(len(p.Shift))/p.smallest)
}

// LogBound returns ln of the bound (13) on the confidence at all places whose values differ by at most r from the
// image. It is in float64, not rounded outwards.
func (p *Posterior) LogBound(x []float64, r float64) float64 {
	return LogConfidence(LogOdds(p.In, p.Out, p.White(x), p.Ball(r)), p.Classes)
}

// Reach is the largest change of every value for which the bound on the confidence is at most factor/K; see radius.
func (p *Posterior) Reach(x []float64, factor float64) float64 {
	return radius(p.In, p.Out, p.White(x), p.Classes, factor) / p.Ball(1)
}

// ball is the smaller of r·√(d·λ), λ the largest eigenvalue of C⁻¹, and r·√(Σ_ij |C⁻¹_ij|). Both
// are off by rounding, far less than the margin.
func ball(r float64, d int, eigenvalue, sum float64) float64 {
	return r * min(math.Sqrt(float64(d)*eigenvalue), math.Sqrt(sum)) * (1 + 1e-9)
}
