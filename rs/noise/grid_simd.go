//go:build goexperiment.simd && amd64

package noise

import (
	"encoding/binary"
	"math/bits"
	"simd/archsimd"
)

func init() {
	if archsimd.X86.AVX512() && archsimd.X86.AVX512VBMI2() {
		addDecided = (*Grid).addVectors
	}
}

// addVectors clamps by itself, and lists undecided values alone.
func (g *Grid) addVectors(dst, image []int16, prefixes []byte, open []uint16) []uint16 {
	const lanes = 32
	whole, table := len(image)-len(image)%lanes, g.table
	for to, from := dst[:whole], prefixes; len(to) >= 8 && len(from) >= 16; to, from = to[8:], from[16:] {
		a, b := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
		to[0], to[1], to[2], to[3] = table[uint16(a)], table[uint16(a>>16)], table[uint16(a>>32)], table[a>>48]
		to[4], to[5], to[6], to[7] = table[uint16(b)], table[uint16(b>>16)], table[uint16(b>>32)], table[b>>48]
	}
	var first [lanes]uint16
	for i := range first {
		first[i] = uint16(i)
	}
	low, high := archsimd.BroadcastInt16x32(int16(g.low)), archsimd.BroadcastInt16x32(int16(g.high))
	none, step := archsimd.BroadcastInt16x32(undecided), archsimd.BroadcastUint16x32(lanes)
	places, n := archsimd.LoadUint16x32(&first), 0
	for i := 0; i < whole; i += lanes {
		to := (*[lanes]int16)(dst[i:])
		k := archsimd.LoadInt16x32(to)
		z := k.AddSaturated(archsimd.LoadInt16x32((*[lanes]int16)(image[i:])))
		z.Max(low).Min(high).Store(to)
		left := k.Equal(none)
		places.Compress(left).Store((*[lanes]uint16)(open[n:]))
		n += bits.OnesCount32(left.ToBits())
		places = places.Add(step)
	}
	archsimd.ClearAVXUpperBits()
	return g.addDecidedFrom(whole, n, dst, image, prefixes, open)
}
