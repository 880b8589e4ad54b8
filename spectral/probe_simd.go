//go:build goexperiment.simd && amd64

package spectral

import "simd/archsimd"

// vector says whether the vector form runs.
var vector = archsimd.X86.AVX2()

// addBytes is addBytesPlain in whole vectors.
func addBytes(dst []int16, image []uint8, step []int16) {
	k := 0
	if vector {
		for ; k+16 <= len(dst); k += 16 {
			x := archsimd.LoadUint8x16((*[16]uint8)(image[k:])).ExtendToUint16().AsInt16x16()
			x.Add(archsimd.LoadInt16x16((*[16]int16)(step[k:]))).Store((*[16]int16)(dst[k:]))
		}
		archsimd.ClearAVXUpperBits()
	}
	addBytesPlain(dst[k:], image[k:], step[k:])
}
