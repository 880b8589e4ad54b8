//go:build goexperiment.simd && amd64

package fourier

// blockx32 writes the transpose of a block of 8×8 values times scale.
func blockx32(dst []float32, dstPitch int, src []float32, srcPitch int, scale vec32) {
	r0, r1, r2, r3 := loadx32(src, 0), loadx32(src, srcPitch), loadx32(src, 2*srcPitch), loadx32(src, 3*srcPitch)
	r4, r5, r6, r7 := loadx32(src, 4*srcPitch), loadx32(src, 5*srcPitch), loadx32(src, 6*srcPitch), loadx32(src, 7*srcPitch)
	// Pairs of rows, in each half of a vector: elements 0 and 1, then 2 and 3.
	a0, a1 := r0.SelectFromPairGrouped(0, 1, 4, 5, r1), r0.SelectFromPairGrouped(2, 3, 6, 7, r1)
	a2, a3 := r2.SelectFromPairGrouped(0, 1, 4, 5, r3), r2.SelectFromPairGrouped(2, 3, 6, 7, r3)
	a4, a5 := r4.SelectFromPairGrouped(0, 1, 4, 5, r5), r4.SelectFromPairGrouped(2, 3, 6, 7, r5)
	a6, a7 := r6.SelectFromPairGrouped(0, 1, 4, 5, r7), r6.SelectFromPairGrouped(2, 3, 6, 7, r7)
	b0, b1 := a0.SelectFromPairGrouped(0, 2, 4, 6, a2), a0.SelectFromPairGrouped(1, 3, 5, 7, a2)
	b2, b3 := a1.SelectFromPairGrouped(0, 2, 4, 6, a3), a1.SelectFromPairGrouped(1, 3, 5, 7, a3)
	b4, b5 := a4.SelectFromPairGrouped(0, 2, 4, 6, a6), a4.SelectFromPairGrouped(1, 3, 5, 7, a6)
	b6, b7 := a5.SelectFromPairGrouped(0, 2, 4, 6, a7), a5.SelectFromPairGrouped(1, 3, 5, 7, a7)
	storex32(b0.Select128FromPair(0, 2, b4).Mul(scale), dst, 0)
	storex32(b1.Select128FromPair(0, 2, b5).Mul(scale), dst, dstPitch)
	storex32(b2.Select128FromPair(0, 2, b6).Mul(scale), dst, 2*dstPitch)
	storex32(b3.Select128FromPair(0, 2, b7).Mul(scale), dst, 3*dstPitch)
	storex32(b0.Select128FromPair(1, 3, b4).Mul(scale), dst, 4*dstPitch)
	storex32(b1.Select128FromPair(1, 3, b5).Mul(scale), dst, 5*dstPitch)
	storex32(b2.Select128FromPair(1, 3, b6).Mul(scale), dst, 6*dstPitch)
	storex32(b3.Select128FromPair(1, 3, b7).Mul(scale), dst, 7*dstPitch)
}

// blockx64 writes the transpose of a block of 4×4 values times scale.
func blockx64(dst []float64, dstPitch int, src []float64, srcPitch int, scale vec64) {
	r0, r1, r2, r3 := loadx64(src, 0), loadx64(src, srcPitch), loadx64(src, 2*srcPitch), loadx64(src, 3*srcPitch)
	a0, a1 := r0.SelectFromPairGrouped(0, 2, r1), r0.SelectFromPairGrouped(1, 3, r1)
	a2, a3 := r2.SelectFromPairGrouped(0, 2, r3), r2.SelectFromPairGrouped(1, 3, r3)
	storex64(a0.Select128FromPair(0, 2, a2).Mul(scale), dst, 0)
	storex64(a1.Select128FromPair(0, 2, a3).Mul(scale), dst, dstPitch)
	storex64(a0.Select128FromPair(1, 3, a2).Mul(scale), dst, 2*dstPitch)
	storex64(a1.Select128FromPair(1, 3, a3).Mul(scale), dst, 3*dstPitch)
}
