//go:build goexperiment.simd && amd64

package spectral

import (
	"simd/archsimd"

	"github.com/certspec/certspec/pixel"
)

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

// addUnits is addUnitsPlain in whole vectors: the quotients of bytes are the same rounded from real
// numbers as from float64.
func addUnits(dst []float32, image []uint8, step []float32) {
	k := 0
	if vector {
		full := archsimd.BroadcastFloat32x8(pixel.Steps)
		for ; k+16 <= len(dst); k += 16 {
			bytes := archsimd.LoadUint8x16((*[16]uint8)(image[k:])).ExtendToUint16()
			low, high := bytes.GetLo().ExtendToUint32().AsInt32x8().ConvertToFloat32(),
				bytes.GetHi().ExtendToUint32().AsInt32x8().ConvertToFloat32()
			low.Div(full).Add(archsimd.LoadFloat32x8((*[8]float32)(step[k:]))).Store((*[8]float32)(dst[k:]))
			high.Div(full).Add(archsimd.LoadFloat32x8((*[8]float32)(step[k+8:]))).Store((*[8]float32)(dst[k+8:]))
		}
		archsimd.ClearAVXUpperBits()
	}
	addUnitsPlain(dst[k:], image[k:], step[k:])
}
