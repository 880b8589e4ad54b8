//go:build !goexperiment.simd || !amd64

package main

// multiplyAdds cannot be measured in this build.
func multiplyAdds(int) float64 { return 0 }
