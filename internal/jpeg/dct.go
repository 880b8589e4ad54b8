package jpeg

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
		if block[8+i]|block[16+i]|block[24+i]|block[32+i]|block[40+i]|block[48+i]|block[56+i] == 0 {
			v := block[i] << passBits
			for k := 0; k < 64; k += 8 {
				block[k+i] = v
			}
			continue
		}
		const shift = dctBits - passBits
		v0, v1, v2, v3, v4, v5, v6, v7 := inverse(block[i], block[8+i], block[16+i], block[24+i], block[32+i],
			block[40+i], block[48+i], block[56+i])
		block[i], block[8+i], block[16+i], block[24+i] = Descale(v0, shift), Descale(v1, shift), Descale(v2, shift),
			Descale(v3, shift)
		block[32+i], block[40+i], block[48+i], block[56+i] = Descale(v4, shift), Descale(v5, shift), Descale(v6, shift),
			Descale(v7, shift)
	}
	for i := 0; i < 64; i += 8 {
		const shift = dctBits + passBits + 3
		b := (*[8]int32)(block[i:])
		v0, v1, v2, v3, v4, v5, v6, v7 := inverse(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7])
		b[0], b[1], b[2], b[3] = Descale(v0, shift), Descale(v1, shift), Descale(v2, shift), Descale(v3, shift)
		b[4], b[5], b[6], b[7] = Descale(v4, shift), Descale(v5, shift), Descale(v6, shift), Descale(v7, shift)
	}
}

// inverse transforms eight values, and multiplies them by 2¹³.
func inverse(c0, c1, c2, c3, c4, c5, c6, c7 int32) (v0, v1, v2, v3, v4, v5, v6, v7 int32) {
	z := (c2 + c6) * fix0541
	t2, t3 := z-c6*fix1847, z+c2*fix0765
	t0, t1 := (c0+c4)<<dctBits, (c0-c4)<<dctBits
	t10, t13 := t0+t3, t0-t3
	t11, t12 := t1+t2, t1-t2
	z5 := (c7 + c3 + c5 + c1) * fix1175
	z1, z2 := -(c7+c1)*fix0899, -(c5+c3)*fix2562
	z3, z4 := z5-(c7+c3)*fix1961, z5-(c5+c1)*fix0390
	o0, o1 := c7*fix0298+z1+z3, c5*fix2053+z2+z4
	o2, o3 := c3*fix3072+z2+z3, c1*fix1501+z1+z4
	return t10 + o3, t11 + o2, t12 + o1, t13 + o0, t13 - o0, t12 - o1, t11 - o2, t10 - o3
}

// Store writes what InverseDCT gives as bytes around 128, in rows that stand stride apart.
func Store(out []uint8, stride int, block *[64]int32) {
	for i := 0; i < 64; i += 8 {
		b, row := (*[8]int32)(block[i:]), (*[8]uint8)(out[i/8*stride:])
		for k, v := range b {
			row[k] = clip(v + 128)
		}
	}
}
