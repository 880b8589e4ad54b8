package feedforward

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// dense is y = Wx + b with W as a matrix, outputs × inputs.
type dense struct {
	in, out    int
	w, wAbs, b []float64
}

func newDense(in, out int, w, b []float64) *dense {
	return &dense{in, out, w, absolute(w), b}
}

func absolute(w []float64) []float64 {
	a := make([]float64, len(w))
	for i, v := range w {
		a[i] = math.Abs(v)
	}
	return a
}

func (d *dense) apply(x, y []float64, abs bool) {
	w := d.w
	if abs {
		w = d.wAbs
	}
	blas64.Gemv(blas.NoTrans, 1, general(d.out, d.in, w), vector(x), 1, vector(y))
}

func (d *dense) transpose(rows int, g, gin []float64) {
	product(rows, d.in, d.out, g, false, d.w, gin)
}

func (d *dense) bias() (b, magnitude []float64) { return d.b, nil }
func (d *dense) terms() int                     { return d.in }
func (d *dense) sizes() (in, out int)           { return d.in, d.out }

func general(rows, cols int, data []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
