//go:build goexperiment.simd && amd64

package main

import "simd/archsimd"

var peakSink [16]float32

// multiplyAdds does so many rounds of independent multiply-adds of float32 in registers, of the widest kind, and returns the number of operations:
// two for each value.
func multiplyAdds(rounds int) float64 {
	if !archsimd.X86.AVX512() {
		return multiplyAdds8(rounds)
	}
	of := archsimd.BroadcastFloat32x16
	x := of(1e-3)
	a, b, c, d, e, f, g, h := of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8) // equal ones would be computed once
	for range rounds {
		a, b, c, d = x.MulAdd(x, a), x.MulAdd(x, b), x.MulAdd(x, c), x.MulAdd(x, d)
		e, f, g, h = x.MulAdd(x, e), x.MulAdd(x, f), x.MulAdd(x, g), x.MulAdd(x, h)
		a, b, c, d = x.MulAdd(x, a), x.MulAdd(x, b), x.MulAdd(x, c), x.MulAdd(x, d)
		e, f, g, h = x.MulAdd(x, e), x.MulAdd(x, f), x.MulAdd(x, g), x.MulAdd(x, h)
	}
	a.Add(b).Add(c.Add(d)).Add(e.Add(f).Add(g.Add(h))).Store(&peakSink)
	return 2 * 16 * 16 * float64(rounds)
}

func multiplyAdds8(rounds int) float64 {
	if !archsimd.X86.FMA() {
		return 0
	}
	of := archsimd.BroadcastFloat32x8
	x := of(1e-3)
	a, b, c, d, e, f, g, h := of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8) // equal ones would be computed once
	for range rounds {
		a, b, c, d = x.MulAdd(x, a), x.MulAdd(x, b), x.MulAdd(x, c), x.MulAdd(x, d)
		e, f, g, h = x.MulAdd(x, e), x.MulAdd(x, f), x.MulAdd(x, g), x.MulAdd(x, h)
		a, b, c, d = x.MulAdd(x, a), x.MulAdd(x, b), x.MulAdd(x, c), x.MulAdd(x, d)
		e, f, g, h = x.MulAdd(x, e), x.MulAdd(x, f), x.MulAdd(x, g), x.MulAdd(x, h)
	}
	a.Add(b).Add(c.Add(d)).Add(e.Add(f).Add(g.Add(h))).Store((*[8]float32)(peakSink[:8]))
	return 2 * 8 * 16 * float64(rounds)
}
