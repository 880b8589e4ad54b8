package fouriermix

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/spectral/fourier"
)

// transform is the DFT X_uv = Σ_ab x_ab exp(−2πi(ua/H + vb/W)) of real planes, and its inverse, as
// products with matrices. Spectra have K columns: those of package fourier's half spectrum, or all
// W.
type transform struct {
	cosH, sinH         *Node // [H, H]
	cosW, sinW         *Node // [W, K]
	inverseC, inverseS *Node // [K, W]: the same, times how many bins a bin stands for, over H·W
}

func newTransform(g *Graph, dtype dtypes.DType, height, width int, half bool) transform {
	columns := width
	if half {
		columns = fourier.Half{Height: height, Width: width}.Columns()
	}
	matrix := func(rows, columns int, value func(i, j int) float64) *Node {
		flat := make([]float64, rows*columns)
		for k := range flat {
			flat[k] = value(k/columns, k%columns)
		}
		return ConvertDType(ConstTensor(g, tensors.FromFlatDataAndDimensions(flat, rows, columns)), dtype)
	}
	// The angle is reduced in whole numbers, which keeps it exact.
	angle := func(i, j, n int) float64 { return 2 * math.Pi * float64(i*j%n) / float64(n) }
	stands := func(v int) float64 {
		if half && v != 0 && 2*v != width {
			return 2 / float64(height*width)
		}
		return 1 / float64(height*width)
	}
	return transform{
		cosH:     matrix(height, height, func(i, j int) float64 { return math.Cos(angle(i, j, height)) }),
		sinH:     matrix(height, height, func(i, j int) float64 { return math.Sin(angle(i, j, height)) }),
		cosW:     matrix(width, columns, func(i, j int) float64 { return math.Cos(angle(i, j, width)) }),
		sinW:     matrix(width, columns, func(i, j int) float64 { return math.Sin(angle(i, j, width)) }),
		inverseC: matrix(columns, width, func(i, j int) float64 { return stands(i) * math.Cos(angle(i, j, width)) }),
		inverseS: matrix(columns, width, func(i, j int) float64 { return stands(i) * math.Sin(angle(i, j, width)) }),
	}
}

// right is x·m for planes x [… , r], and left is m·x for a symmetric m and planes x [… , m, c].
func right(x, m *Node) *Node {
	d := x.Shape().Dimensions
	last := len(d) - 1
	out := append(append([]int{}, d[:last]...), m.Shape().Dimensions[1])
	return Reshape(MatMul(Reshape(x, -1, d[last]), m), out...)
}

func left(m, x *Node) *Node {
	rank := x.Rank()
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	axes[rank-2], axes[rank-1] = rank-1, rank-2
	return TransposeAllDims(right(TransposeAllDims(x, axes...), m), axes...)
}

// forward is the spectra [… , H, K] of planes [… , H, W].
func (t transform) forward(x *Node) complexNode {
	c, s := right(x, t.cosW), right(x, t.sinW)
	return complexNode{
		Sub(left(t.cosH, c), left(t.sinH, s)),
		Neg(Add(left(t.sinH, c), left(t.cosH, s))),
	}
}

// inverse is the real part of the planes [… , H, W] of spectra, or their modulus.
func (t transform) inverse(z complexNode, modulus bool) *Node {
	re := Sub(left(t.cosH, z.re), left(t.sinH, z.im))
	im := Add(left(t.sinH, z.re), left(t.cosH, z.im))
	x := Sub(right(re, t.inverseC), right(im, t.inverseS))
	if !modulus {
		return x
	}
	y := Add(right(re, t.inverseS), right(im, t.inverseC))
	return Sqrt(Add(Mul(x, x), Mul(y, y)))
}
