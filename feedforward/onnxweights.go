package feedforward

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"

	"github.com/certspec/certspec/internal/onnxfile"
)

// gemm is αx·W + βc. Where α or β is not 1 it is two layers, since what is summed is scaled afterwards.
func (r *reader) gemm(n *onnxfile.Node) (int, string) {
	in, dims, reason := r.result(n)
	if reason != "" || n.Int("transA", 0) != 0 {
		return 0, cmp.Or(reason, "its first input is transposed")
	}
	weights, reason := r.parameter(n, 1)
	if reason != "" {
		return 0, reason
	}
	c, reason := r.parameter(n, 2)
	if reason != "" {
		return 0, reason
	}
	if len(weights.Dims) != 2 || len(dims) != 2 {
		return 0, fmt.Sprintf("a product of dimensions %v with %v", dims, weights.Dims)
	}
	w, rows, cols := weights.Real, weights.Dims[0], weights.Dims[1]
	if n.Int("transB", 0) == 0 {
		if reason := r.b.room(nil, 0, 8*len(w)); reason != "" {
			return 0, reason
		}
		w = transposed(w, rows, cols)
		rows, cols = cols, rows
	}
	if cols != dims[1] {
		return 0, fmt.Sprintf("weights for %d values, the input has %d", cols, dims[1])
	}
	alpha, beta := float64(n.Float("alpha", 1)), float64(n.Float("beta", 1))
	var bias []float64
	if c != nil && beta != 0 {
		full := c.Spread([]int{1, rows})
		if full == nil {
			return 0, fmt.Sprintf("a bias of dimensions %v for %d outputs", c.Dims, rows)
		}
		bias = full.Real
	}
	if alpha == 1 && (beta == 1 || bias == nil) {
		return r.b.Dense(in, rows, w, bias), ""
	}
	layer := r.b.Dense(in, rows, w, nil)
	if r.b.err != nil {
		return 0, ""
	}
	s := slices.Repeat([]float64{alpha}, rows)
	t := make([]float64, rows)
	for i, v := range bias {
		t[i] = beta * v
	}
	layer = r.b.Scale(layer, s, t, nil)
	if r.b.err == nil {
		f := &r.b.net.nodes[layer].folding
		f.term = array.Largest(bias) * array.Largest([]float64{beta})
	}
	return layer, ""
}

func transposed(w []float64, rows, cols int) []float64 {
	out := make([]float64, len(w))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = w[i*cols+j]
		}
	}
	return out
}

// matMul is x·W for a row of values, or W·x for a column, [n, 1].
func (r *reader) matMul(n *onnxfile.Node) (int, string) {
	in, row := r.layer(n, 0)
	at := 1
	if !row {
		in, _ = r.layer(n, 1)
		at = 0
	} else if _, both := r.layer(n, 1); both {
		return 0, "of two results"
	}
	c, reason := r.parameter(n, at)
	if reason != "" {
		return 0, reason
	}
	dims := append([]int{1}, r.b.Shape(in)...)
	axis := len(dims) - 1 - (1 - at) // of the input, over which it is summed
	if len(c.Dims) != 2 || len(dims) < 3-at || array.Size(dims) != dims[axis] || c.Dims[1-at] != dims[axis] {
		return 0, fmt.Sprintf("a result of dimensions %v times a constant of %v; a row times a matrix, or a matrix "+
			"times a column, is read",
			dims, c.Dims)
	}
	w := c.Real
	if row {
		if reason := r.b.room(nil, 0, 8*len(w)); reason != "" {
			return 0, reason
		}
		w = transposed(w, c.Dims[0], c.Dims[1])
	}
	dims[axis] = c.Dims[at]
	layer := r.b.Dense(in, dims[axis], w, nil)
	if r.b.err != nil {
		return 0, ""
	}
	return r.shaped(layer, dims)
}

func (r *reader) batchNorm(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	switch {
	case reason != "":
		return 0, reason
	case n.Int("training_mode", 0) != 0:
		return 0, "in training mode"
	case n.Int("spatial", 1) != 1:
		return 0, "with statistics of each pixel"
	}
	var v [4][]float64
	for i := range v {
		if v[i], reason = r.vector(n, i+1); reason != "" {
			return 0, reason
		}
	}
	return r.b.BatchNorm(in, v[0], v[1], v[2], v[3], float64(n.Float("epsilon", 1e-5))), ""
}
