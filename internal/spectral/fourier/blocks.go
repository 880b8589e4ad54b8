//go:build goexperiment.simd && amd64

package fourier

import "simd/archsimd"

// The transposes of whole blocks, 4×4 values of float64 in vectors of 256 bits and 8×8 else. Most
// pieces are small enough to be inlined, as a vector that is handed to a function goes through
// memory.

// quadx32 transposes, in each half of the vectors, the four rows of four values.
func quadx32(r0, r1, r2, r3 vec32) (_, _, _, _ vec32) {
	a0, a1 := r0.SelectFromPairGrouped(0, 1, 4, 5, r1), r0.SelectFromPairGrouped(2, 3, 6, 7, r1)
	a2, a3 := r2.SelectFromPairGrouped(0, 1, 4, 5, r3), r2.SelectFromPairGrouped(2, 3, 6, 7, r3)
	return a0.SelectFromPairGrouped(0, 2, 4, 6, a2), a0.SelectFromPairGrouped(1, 3, 5, 7, a2),
		a1.SelectFromPairGrouped(0, 2, 4, 6, a3), a1.SelectFromPairGrouped(1, 3, 5, 7, a3)
}

// putx32 joins the halves of the upper rows a and the lower rows b of a block and stores them.
func putx32(dst []float32, at, pitch int, a0, a1, a2, a3, b0, b1, b2, b3 vec32) {
	storex32(a0.Select128FromPair(0, 2, b0), dst, at)
	storex32(a1.Select128FromPair(0, 2, b1), dst, at+pitch)
	storex32(a2.Select128FromPair(0, 2, b2), dst, at+2*pitch)
	storex32(a3.Select128FromPair(0, 2, b3), dst, at+3*pitch)
	at += 4 * pitch
	storex32(a0.Select128FromPair(1, 3, b0), dst, at)
	storex32(a1.Select128FromPair(1, 3, b1), dst, at+pitch)
	storex32(a2.Select128FromPair(1, 3, b2), dst, at+2*pitch)
	storex32(a3.Select128FromPair(1, 3, b3), dst, at+3*pitch)
}

// scaledx32 writes the transpose of src times scale.
func scaledx32(dst []float32, dstPitch int, src []float32, n, rows, columns int, scale float32) {
	f := broadcastx32(scale)
	for i := 0; i < rows; i += lanes32 {
		for j := 0; j < columns; j += lanes32 {
			s := src[i*n+j:]
			t := src[(i+4)*n+j:]
			a0, a1, a2, a3 := quadx32(loadx32(s, 0).Mul(f), loadx32(s, n).Mul(f), loadx32(s, 2*n).Mul(f),
				loadx32(s, 3*n).Mul(f))
			b0, b1, b2, b3 := quadx32(loadx32(t, 0).Mul(f), loadx32(t, n).Mul(f), loadx32(t, 2*n).Mul(f),
				loadx32(t, 3*n).Mul(f))
			putx32(dst, j*dstPitch+i, dstPitch, a0, a1, a2, a3, b0, b1, b2, b3)
		}
	}
	archsimd.ClearAVXUpperBits()
}

// foldx32 writes the transpose of y + sign·x.
func foldx32(dst, y, x grid[float32], rows, columns int, sign float32) {
	f := broadcastx32(sign)
	m, n := y.pitch, x.pitch
	for i := 0; i < rows; i += lanes32 {
		for j := 0; j < columns; j += lanes32 {
			s, t := y.start+i*m+j, x.start+i*n+j
			a0, a1, a2, a3 := quadx32(addx32(y.s, s, x.s, t, f), addx32(y.s, s+m, x.s, t+n, f), addx32(y.s, s+2*m, x.s,
				t+2*n, f), addx32(y.s, s+3*m, x.s, t+3*n, f))
			s, t = s+4*m, t+4*n
			b0, b1, b2, b3 := quadx32(addx32(y.s, s, x.s, t, f), addx32(y.s, s+m, x.s, t+n, f), addx32(y.s, s+2*m, x.s,
				t+2*n, f), addx32(y.s, s+3*m, x.s, t+3*n, f))
			putx32(dst.s, dst.start+j*dst.pitch+i, dst.pitch, a0, a1, a2, a3, b0, b1, b2, b3)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func addx32(y []float32, at int, x []float32, xAt int, sign vec32) vec32 {
	return loadx32(y, at).Add(loadx32(x, xAt).Mul(sign))
}

// putx64 transposes a block of four rows and stores it.
func putx64(dst []float64, at, pitch int, r0, r1, r2, r3 vec64) {
	a0, a1 := r0.SelectFromPairGrouped(0, 2, r1), r0.SelectFromPairGrouped(1, 3, r1)
	a2, a3 := r2.SelectFromPairGrouped(0, 2, r3), r2.SelectFromPairGrouped(1, 3, r3)
	storex64(a0.Select128FromPair(0, 2, a2), dst, at)
	storex64(a1.Select128FromPair(0, 2, a3), dst, at+pitch)
	storex64(a0.Select128FromPair(1, 3, a2), dst, at+2*pitch)
	storex64(a1.Select128FromPair(1, 3, a3), dst, at+3*pitch)
}

func scaledx64(dst []float64, dstPitch int, src []float64, n, rows, columns int, scale float64) {
	f := broadcastx64(scale)
	for i := 0; i < rows; i += lanes64 {
		for j := 0; j < columns; j += lanes64 {
			s := src[i*n+j:]
			putx64(dst, j*dstPitch+i, dstPitch, loadx64(s, 0).Mul(f), loadx64(s, n).Mul(f), loadx64(s, 2*n).Mul(f),
				loadx64(s, 3*n).Mul(f))
		}
	}
	archsimd.ClearAVXUpperBits()
}

func foldx64(dst, y, x grid[float64], rows, columns int, sign float64) {
	f := broadcastx64(sign)
	m, n := y.pitch, x.pitch
	for i := 0; i < rows; i += lanes64 {
		for j := 0; j < columns; j += lanes64 {
			s, t := y.start+i*m+j, x.start+i*n+j
			putx64(dst.s, dst.start+j*dst.pitch+i, dst.pitch, addx64(y.s, s, x.s, t, f), addx64(y.s, s+m, x.s, t+n, f),
				addx64(y.s, s+2*m, x.s, t+2*n, f), addx64(y.s, s+3*m, x.s, t+3*n, f))
		}
	}
	archsimd.ClearAVXUpperBits()
}

func addx64(y []float64, at int, x []float64, xAt int, sign vec64) vec64 {
	return loadx64(y, at).Add(loadx64(x, xAt).Mul(sign))
}

// rowsx512 are the eight rows of a block. They go through memory, as the work on them is too much to be inlined.
type rowsx512 [lanes512]vec512

// Places in two vectors, one after the other, in pairs of values: what takes every second pair of
// both from the first or the second on, and what joins their lower and their upper halves.
var evenPairs, oddPairs = [8]uint64{0, 1, 8, 9, 4, 5, 12, 13}, [8]uint64{2, 3, 10, 11, 6, 7, 14, 15}
var lowerHalves, upperHalves = [8]uint64{0, 1, 2, 3, 8, 9, 10, 11}, [8]uint64{4, 5, 6, 7, 12, 13, 14, 15}

// putx512 transposes a block and stores it.
func putx512(dst []float64, at, pitch int, r *rowsx512) {
	even, odd := archsimd.LoadUint64x8(&evenPairs), archsimd.LoadUint64x8(&oddPairs)
	lower, upper := archsimd.LoadUint64x8(&lowerHalves), archsimd.LoadUint64x8(&upperHalves)
	a0, b0 := r[0].SelectFromPairGrouped(0, 2, r[1]), r[0].SelectFromPairGrouped(1, 3, r[1])
	a1, b1 := r[2].SelectFromPairGrouped(0, 2, r[3]), r[2].SelectFromPairGrouped(1, 3, r[3])
	a2, b2 := r[4].SelectFromPairGrouped(0, 2, r[5]), r[4].SelectFromPairGrouped(1, 3, r[5])
	a3, b3 := r[6].SelectFromPairGrouped(0, 2, r[7]), r[6].SelectFromPairGrouped(1, 3, r[7])
	p, q := a0.ConcatPermute(a1, even), a2.ConcatPermute(a3, even)
	storex512(p.ConcatPermute(q, lower), dst, at)
	storex512(p.ConcatPermute(q, upper), dst, at+4*pitch)
	p, q = b0.ConcatPermute(b1, even), b2.ConcatPermute(b3, even)
	storex512(p.ConcatPermute(q, lower), dst, at+pitch)
	storex512(p.ConcatPermute(q, upper), dst, at+5*pitch)
	p, q = a0.ConcatPermute(a1, odd), a2.ConcatPermute(a3, odd)
	storex512(p.ConcatPermute(q, lower), dst, at+2*pitch)
	storex512(p.ConcatPermute(q, upper), dst, at+6*pitch)
	p, q = b0.ConcatPermute(b1, odd), b2.ConcatPermute(b3, odd)
	storex512(p.ConcatPermute(q, lower), dst, at+3*pitch)
	storex512(p.ConcatPermute(q, upper), dst, at+7*pitch)
}

func scaledx512(dst []float64, dstPitch int, src []float64, n, rows, columns int, scale float64) {
	f := broadcastx512(scale)
	var r rowsx512
	for i := 0; i < rows; i += lanes512 {
		for j := 0; j < columns; j += lanes512 {
			for k := range r {
				r[k] = loadx512(src, (i+k)*n+j).Mul(f)
			}
			putx512(dst, j*dstPitch+i, dstPitch, &r)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func foldx512(dst, y, x grid[float64], rows, columns int, sign float64) {
	f := broadcastx512(sign)
	var r rowsx512
	for i := 0; i < rows; i += lanes512 {
		for j := 0; j < columns; j += lanes512 {
			s, t := y.start+i*y.pitch+j, x.start+i*x.pitch+j
			for k := range r {
				r[k] = loadx512(y.s, s+k*y.pitch).Add(loadx512(x.s, t+k*x.pitch).Mul(f))
			}
			putx512(dst.s, dst.start+j*dst.pitch+i, dst.pitch, &r)
		}
	}
	archsimd.ClearAVXUpperBits()
}
