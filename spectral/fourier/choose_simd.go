//go:build goexperiment.simd && amd64

package fourier

import "simd/archsimd"

// vector says whether the vector form runs.
var vector = archsimd.X86.AVX2()

func chooseKernels[T Float]() kernels[T] {
	var k kernels[T]
	switch k := any(&k).(type) {
	case *kernels[float32]:
		*k = kernels[float32]{lanes32, radix2x32, radix4x32, radix8x32, oddx32, sumsx32, transposex32, loadPlanex32, storePlanex32, amplitudex32, foldx32, copyRowsx32}
	case *kernels[float64]:
		*k = kernels[float64]{lanes64, radix2x64, radix4x64, radix8x64, oddx64, sumsx64, transposex64, loadPlanex64, storePlanex64, amplitudex64, foldx64, copyRowsx64}
	}
	if !vector {
		k = plainKernels[T]()
	}
	return k
}
