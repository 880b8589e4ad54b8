//go:build goexperiment.simd && amd64

package kernel

import "simd/archsimd"

// Wide says whether the form in vectors of eight runs, which keeps all sums of a tile in registers.
var Wide = archsimd.X86.AVX512()

// tile512 is tile, of four rows.
func tile512(rows [][TileRows]float64, b []float64, strideB int, c []float64, strideC int) {
	load := archsimd.LoadFloat64x8Slice
	s0, s1, s2, s3 := load(c), load(c[strideC:]), load(c[2*strideC:]), load(c[3*strideC:])
	at := 0
	for l := range rows {
		a, row := &rows[l], archsimd.LoadFloat64x8((*[TileCols]float64)(b[at:]))
		s0 = s0.Add(archsimd.BroadcastFloat64x8(a[0]).Mul(row))
		s1 = s1.Add(archsimd.BroadcastFloat64x8(a[1]).Mul(row))
		s2 = s2.Add(archsimd.BroadcastFloat64x8(a[2]).Mul(row))
		s3 = s3.Add(archsimd.BroadcastFloat64x8(a[3]).Mul(row))
		at += strideB
	}
	s0.StoreSlice(c)
	s1.StoreSlice(c[strideC:])
	s2.StoreSlice(c[2*strideC:])
	s3.StoreSlice(c[3*strideC:])
}
