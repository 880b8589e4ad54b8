//go:build !goexperiment.simd || !amd64

package fourier

// vector and wide are the switches of the vector forms, which this build does not have.
var vector, wide = false, false

func chooseKernels[T Float]() kernels[T] { return plainKernels[T]() }
