//go:build !goexperiment.simd || !amd64

package spectral

func addBytes(dst []int16, image []uint8, step []int16) { addBytesPlain(dst, image, step) }

func addUnits(dst []float32, image []uint8, step []float32) { addUnitsPlain(dst, image, step) }
