//go:build !goexperiment.simd

package backend

const builtWithSIMD = false
