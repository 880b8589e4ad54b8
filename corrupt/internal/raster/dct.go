package raster

// The constants of the DCT of Loeffler, Ligtenberg and Moschytz (1989) in multiples of 2⁻¹³.
const (
	fix0298 = 2446  // 0.298631336
	fix0390 = 3196  // 0.390180644
	fix0541 = 4433  // 0.541196100
	fix0765 = 6270  // 0.765366865
	fix0899 = 7373  // 0.899976223
	fix1175 = 9633  // 1.175875602
	fix1501 = 12299 // 1.501321110
	fix1847 = 15137 // 1.847759065
	fix1961 = 16069 // 1.961570560
	fix2053 = 16819 // 2.053119869
	fix2562 = 20995 // 2.562915447
	fix3072 = 25172 // 3.072711026

	dctBits  = 13
	passBits = 2 // kept between the two passes
)

// Descale divides by 2ⁿ, rounding halves up.
func Descale(v int32, n int) int32 { return (v + 1<<(n-1)) >> n }

// ForwardDCT is 8 times the orthonormal two-dimensional DCT of a block, rounded as libjpeg's "islow" method does.
func ForwardDCT(block *[64]int32) {
	for i := 0; i < 64; i += 8 {
		forwardLine(block, i, 1, dctBits-passBits)
		block[i] <<= passBits
		block[i+4] <<= passBits
	}
	for i := range 8 {
		forwardLine(block, i, 8, dctBits+passBits)
		block[i] = Descale(block[i], passBits)
		block[i+32] = Descale(block[i+32], passBits)
	}
}

// forwardLine transforms eight values that stand step apart. Coefficients 0 and 4 are left unscaled.
func forwardLine(b *[64]int32, at, step, shift int) {
	v := func(i int) int32 { return b[(at+i*step)&63] }
	t0, t7 := v(0)+v(7), v(0)-v(7)
	t1, t6 := v(1)+v(6), v(1)-v(6)
	t2, t5 := v(2)+v(5), v(2)-v(5)
	t3, t4 := v(3)+v(4), v(3)-v(4)
	t10, t13 := t0+t3, t0-t3
	t11, t12 := t1+t2, t1-t2
	set := func(i int, v int32) { b[(at+i*step)&63] = v }
	set(0, t10+t11)
	set(4, t10-t11)
	z := (t12 + t13) * fix0541
	set(2, Descale(z+t13*fix0765, shift))
	set(6, Descale(z-t12*fix1847, shift))
	z5 := (t4 + t6 + t5 + t7) * fix1175
	z1, z2 := -(t4+t7)*fix0899, -(t5+t6)*fix2562
	z3, z4 := z5-(t4+t6)*fix1961, z5-(t5+t7)*fix0390
	set(7, Descale(t4*fix0298+z1+z3, shift))
	set(5, Descale(t5*fix2053+z2+z4, shift))
	set(3, Descale(t6*fix3072+z2+z3, shift))
	set(1, Descale(t7*fix1501+z1+z4, shift))
}

// InverseDCT is the inverse of the orthonormal DCT, rounded as libjpeg's "islow" method does.
func InverseDCT(block *[64]int32) {
	for i := range 8 {
		inverseLine(block, i, 8, dctBits-passBits)
	}
	for i := 0; i < 64; i += 8 {
		inverseLine(block, i, 1, dctBits+passBits+3)
	}
}

func inverseLine(b *[64]int32, at, step, shift int) {
	v := func(i int) int32 { return b[(at+i*step)&63] }
	z := (v(2) + v(6)) * fix0541
	t2, t3 := z-v(6)*fix1847, z+v(2)*fix0765
	t0, t1 := (v(0)+v(4))<<dctBits, (v(0)-v(4))<<dctBits
	t10, t13 := t0+t3, t0-t3
	t11, t12 := t1+t2, t1-t2
	o0, o1, o2, o3 := v(7), v(5), v(3), v(1)
	z5 := (o0 + o2 + o1 + o3) * fix1175
	z1, z2 := -(o0+o3)*fix0899, -(o1+o2)*fix2562
	z3, z4 := z5-(o0+o2)*fix1961, z5-(o1+o3)*fix0390
	o0 = o0*fix0298 + z1 + z3
	o1 = o1*fix2053 + z2 + z4
	o2 = o2*fix3072 + z2 + z3
	o3 = o3*fix1501 + z1 + z4
	set := func(i int, v int32) { b[(at+i*step)&63] = Descale(v, shift) }
	set(0, t10+o3)
	set(7, t10-o3)
	set(1, t11+o2)
	set(6, t11-o2)
	set(2, t12+o1)
	set(5, t12-o1)
	set(3, t13+o0)
	set(4, t13-o0)
}
