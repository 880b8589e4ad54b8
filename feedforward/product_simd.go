//go:build goexperiment.simd && amd64

package feedforward

import "simd/archsimd"

// vectors says whether the vector form runs.
var vectors = archsimd.X86.AVX2()

// productTiles adds to c, m × n, the product of packed rows and b, k × n, in tiles of four rows and eight columns,
// whose sums stay in registers while k runs.
func productTiles(m, n, k int, rows [][tileRows]float64, b, c matrix) {
	if k == 0 {
		return
	}
	whole := n - n%tileCols
	for j := 0; j < whole; j += tileCols {
		for i := 0; i < m; i += tileRows {
			tile(rows[i/tileRows*k:][:k], min(tileRows, m-i), b.data[j:], b.stride, c.data[i*c.stride+j:], c.stride)
		}
	}
	if rest := n - whole; rest > 0 {
		last, sums := make([]float64, k*tileCols), make([]float64, m*tileCols)
		for l := range k {
			copy(last[l*tileCols:], b.data[l*b.stride+whole:l*b.stride+n])
		}
		for i := range m {
			copy(sums[i*tileCols:], c.data[i*c.stride+whole:i*c.stride+n])
		}
		for i := 0; i < m; i += tileRows {
			tile(rows[i/tileRows*k:][:k], min(tileRows, m-i), last, tileCols, sums[i*tileCols:], tileCols)
		}
		for i := range m {
			copy(c.data[i*c.stride+whole:i*c.stride+n], sums[i*tileCols:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

// packRows gives, for each four rows of a, their values for every k side by side; rows that there are not are zero.
func packRows(m, k int, a []float64, transposed bool) [][tileRows]float64 {
	packed := make([][tileRows]float64, (m+tileRows-1)/tileRows*k)
	for i := 0; i < m; i += tileRows {
		to, rows := packed[i/tileRows*k:][:k], min(tileRows, m-i)
		switch {
		case transposed && rows == tileRows:
			for l := range to {
				to[l] = [tileRows]float64(a[l*m+i:])
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
func tile(rows [][tileRows]float64, m int, b []float64, strideB int, c []float64, strideC int) {
	if wide && m == tileRows {
		tile512(rows, b, strideB, c, strideC)
		return
	}
	load := archsimd.LoadFloat64x4Slice
	store := func(i int, left, right archsimd.Float64x4) {
		left.StoreSlice(c[i*strideC:])
		right.StoreSlice(c[i*strideC+4:])
	}
	if m == tileRows {
		s00, s01 := load(c), load(c[4:])
		s10, s11 := load(c[strideC:]), load(c[strideC+4:])
		s20, s21 := load(c[2*strideC:]), load(c[2*strideC+4:])
		s30, s31 := load(c[3*strideC:]), load(c[3*strideC+4:])
		at := 0
		for l := range rows {
			a, row := &rows[l], (*[tileCols]float64)(b[at:])
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
