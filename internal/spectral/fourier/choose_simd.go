//go:build goexperiment.simd && amd64

package fourier

import "simd/archsimd"

// vector says whether a vector form runs, and wide whether that of float64 has vectors of 512 bits.
var vector, wide = archsimd.X86.AVX2(), archsimd.X86.AVX512()

func chooseKernels[T Float]() kernels[T] {
	var k kernels[T]
	switch k := any(&k).(type) {
	case *kernels[float32]:
		*k = kernels[float32]{lanes32, radix2x32, radix4x32, radix8x32, oddx32, sumsx32, transposex32, loadPlanex32,
			storePlanex32, amplitudex32, foldx32, copyRowsx32}
	case *kernels[float64]:
		*k = kernels[float64]{lanes64, radix2x64, radix4x64, radix8x64, oddx64, sumsx64, transposex64, loadPlanex64,
			storePlanex64, amplitudex64, foldx64, copyRowsx64}
		if wide {
			*k = kernels[float64]{lanes512, radix2x512, radix4x512, radix8x512, oddx512, sumsx512, transposex512,
				loadPlanex512, storePlanex512, amplitudex512, foldx512, copyRowsx512}
		}
	}
	if !vector {
		k = plainKernels[T]()
	}
	return k
}
