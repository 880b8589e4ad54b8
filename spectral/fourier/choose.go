//go:build !goexperiment.simd || !amd64

package fourier

// vector is the switch of the vector form, which this build does not have.
var vector = false

func chooseKernels[T Float]() kernels[T] { return plainKernels[T]() }
