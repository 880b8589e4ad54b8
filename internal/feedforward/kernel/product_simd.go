//go:build goexperiment.simd && amd64

package kernel

import "simd/archsimd"

// Vectors says whether the vector form runs.
var Vectors = archsimd.X86.AVX2()

// ProductTiles adds to c, m × n, the product of packed rows and b, k × n, in tiles of four rows and eight columns,
// whose sums stay in registers while k runs.
func ProductTiles(m, n, k int, rows [][TileRows]float64, b, c Matrix) {
	if k == 0 {
		return
	}
	whole := n - n%TileCols
	for j := 0; j < whole; j += TileCols {
		for i := 0; i < m; i += TileRows {
			tile(rows[i/TileRows*k:][:k], min(TileRows, m-i), b.Data[j:], b.Stride, c.Data[i*c.Stride+j:], c.Stride)
		}
	}
	if rest := n - whole; rest > 0 {
		last, sums := make([]float64, k*TileCols), make([]float64, m*TileCols)
		for l := range k {
			copy(last[l*TileCols:], b.Data[l*b.Stride+whole:l*b.Stride+n])
		}
		for i := range m {
			copy(sums[i*TileCols:], c.Data[i*c.Stride+whole:i*c.Stride+n])
		}
		for i := 0; i < m; i += TileRows {
			tile(rows[i/TileRows*k:][:k], min(TileRows, m-i), last, TileCols, sums[i*TileCols:], TileCols)
		}
		for i := range m {
			copy(c.Data[i*c.Stride+whole:i*c.Stride+n], sums[i*TileCols:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

// PackRows gives, for each four rows of a, their values for every k side by side; rows that there are not are zero.
func PackRows(m, k int, a []float64, transposed bool) [][TileRows]float64 {
	packed := make([][TileRows]float64, (m+TileRows-1)/TileRows*k)
	for i := 0; i < m; i += TileRows {
		to, rows := packed[i/TileRows*k:][:k], min(TileRows, m-i)
		switch {
		case transposed && rows == TileRows:
			for l := range to {
				to[l] = [TileRows]float64(a[l*m+i:])
			}
		case transposed:
			for l := range to {
				copy(to[l][:rows], a[l*m+i:])
			}
		default:
			for j := range rows {
				for l, v := range a[(i+j)*k : (i+j+1)*k] {
					to[l][j] = v
				}
			}
		}
	}
	return packed
}

// tile adds to a tile of c, whose rows are apart by strideC, the product of rows and eight columns of b, whose rows
// are apart by strideB.
func tile(rows [][TileRows]float64, m int, b []float64, strideB int, c []float64, strideC int) {
	if Wide && m == TileRows {
		tile512(rows, b, strideB, c, strideC)
		return
	}
	load := archsimd.LoadFloat64x4Slice
	store := func(i int, left, right archsimd.Float64x4) {
		left.StoreSlice(c[i*strideC:])
		right.StoreSlice(c[i*strideC+4:])
	}
	if m == TileRows {
		s00, s01 := load(c), load(c[4:])
		s10, s11 := load(c[strideC:]), load(c[strideC+4:])
		s20, s21 := load(c[2*strideC:]), load(c[2*strideC+4:])
		s30, s31 := load(c[3*strideC:]), load(c[3*strideC+4:])
		at := 0
		for l := range rows {
			a, row := &rows[l], (*[TileCols]float64)(b[at:])
			b0, b1 := archsimd.LoadFloat64x4((*[4]float64)(row[:4])), archsimd.LoadFloat64x4((*[4]float64)(row[4:]))
			v := archsimd.BroadcastFloat64x4(a[0])
			s00, s01 = s00.Add(v.Mul(b0)), s01.Add(v.Mul(b1))
			v = archsimd.BroadcastFloat64x4(a[1])
			s10, s11 = s10.Add(v.Mul(b0)), s11.Add(v.Mul(b1))
			v = archsimd.BroadcastFloat64x4(a[2])
			s20, s21 = s20.Add(v.Mul(b0)), s21.Add(v.Mul(b1))
			v = archsimd.BroadcastFloat64x4(a[3])
			s30, s31 = s30.Add(v.Mul(b0)), s31.Add(v.Mul(b1))
			at += strideB
		}
		store(0, s00, s01)
		store(1, s10, s11)
		store(2, s20, s21)
		store(3, s30, s31)
		return
	}
	for i := range m {
		s0, s1 := load(c[i*strideC:]), load(c[i*strideC+4:])
		at := 0
		for l := range rows {
			v := archsimd.BroadcastFloat64x4(rows[l][i])
			s0, s1 = s0.Add(v.Mul(load(b[at:]))), s1.Add(v.Mul(load(b[at+4:])))
			at += strideB
		}
		store(i, s0, s1)
	}
}
