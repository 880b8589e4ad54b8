//go:build goexperiment.simd && amd64

package noise

import (
	"crypto/aes"
	"encoding/binary"
	"math"
	"math/bits"
	"simd/archsimd"

	"github.com/certspec/certspec/pixel"
)

func init() {
	if archsimd.X86.AVX512() && archsimd.X86.AVX512VBMI2() {
		addVectors = func(g *Grid) func(dst, image []int16, prefixes []byte, open []uint16) []uint16 {
			if v := newInverse(g); v != nil {
				return v.add
			}
			return nil
		}
	}
	if archsimd.X86.AVX512VAES() {
		newBits = newVectorBits
	}
}

const lanes = 32

// inverse computes what the table of a Grid tells without its memory. q is a prefix of the upper half, counted from
// the middle; the lower half is its mirror image. The value is x(q) = 255σ·Φ⁻¹, rounded to nearest: in each of 64
// segments a quadratic polynomial, which may be one too low, and a threshold corrects it. When it is made, every
// prefix is compared with the table.
type inverse struct {
	*Grid
	a, b, c    [2][lanes]uint16    // by segment: x = a + (b + c·f)·f in 2^-fractionBits, f being the place in it
	thresholds [8][2][lanes]uint16 // q of the prefix that the threshold above each value falls into
	used       int                 // of the eight parts
	limit      uint16              // q from here on is left to the table
}

const (
	segmentBits  = 9 // of q
	fractionBits = 7
)

// newInverse is nil where more than a sixteenth would be left to the table.
func newInverse(g *Grid) *inverse {
	const middle = 1 << (prefixBits - 1)
	v := &inverse{Grid: g, used: 8, limit: middle}
	x := func(q int) float64 { // at twice q, so that a segment has a middle
		z := math.Sqrt2 * math.Erfinv(math.Ldexp(float64(q), -prefixBits))
		return pixel.Steps * g.sigma * z * (1 << fractionBits)
	}
	for i := range 2*lanes - 1 { // the last has no end
		low, high := x(i<<(segmentBits+1)), x((i+1)<<(segmentBits+1))
		c := max(0, 2*(low+high-2*x((2*i+1)<<segmentBits)))
		v.a[i/lanes][i%lanes], v.b[i/lanes][i%lanes] = uint16(low+1.5), uint16(high-low-c+0.5)
		v.c[i/lanes][i%lanes] = uint16(c + 0.5)
	}
	for k, cell := range g.cells[g.reach:min(g.reach+8*2*lanes, len(g.cells))] {
		v.thresholds[k/(2*lanes)][k/lanes%2][k%lanes] = uint16(cell>>suffixBits) - middle
	}
	var prefixes [2 << prefixBits]byte
	for i := range 1 << prefixBits {
		binary.LittleEndian.PutUint16(prefixes[2*i:], uint16(i))
	}
	var values [1 << prefixBits]int16
	v.look(values[:], prefixes[:])
	right := func(i int) bool { return values[i] == g.table[i] }
	most, q := int16(0), 0
	for ; q < middle && right(middle+q) && right(middle-1-q); q++ {
		most = max(most, values[middle+q])
	}
	if v.used, v.limit = min(int(most)/(2*lanes)+1, 8), uint16(q); q < middle/16*15 {
		return nil
	}
	return v
}

// look gives the values of prefixes, or undecided.
func (v *inverse) look(to []int16, prefixes []byte) {
	load := func(x *[2][lanes]uint16) (low, high archsimd.Uint16x32) {
		return archsimd.LoadUint16x32(&x[0]), archsimd.LoadUint16x32(&x[1])
	}
	a0, a1 := load(&v.a)
	b0, b1 := load(&v.b)
	c0, c1 := load(&v.c)
	all := archsimd.BroadcastUint16x32
	half, one, limit, none := all(1<<15), all(1), all(v.limit), archsimd.BroadcastInt16x32(undecided)
	// Go moves the constant of ShiftAllRight by a legacy SSE instruction in the loop, which Intel's
	// processors wait for; a vector of constants stands outside.
	toSegment, toValue := all(segmentBits), all(fractionBits)
	for ; len(to) >= lanes; to, prefixes = to[lanes:], prefixes[2*lanes:] {
		turned := archsimd.LoadUint8x64((*[2 * lanes]byte)(prefixes)).AsUint16x32().Xor(half).AsInt16x32()
		sign := turned.ShiftAllRight(15)
		q := turned.Xor(sign).AsUint16x32()
		f, segment := q.ShiftAllLeft(prefixBits-segmentBits), q.ShiftRight(toSegment)
		x := b0.ConcatPermute(b1, segment).Add(c0.ConcatPermute(c1, segment).MulHigh(f)).MulHigh(f)
		k := x.Add(a0.ConcatPermute(a1, segment)).ShiftRight(toValue)
		t0, t1 := load(&v.thresholds[0])
		t := t0.ConcatPermute(t1, k)
		for j := 1; j < v.used; j++ {
			t0, t1 := load(&v.thresholds[j])
			t = t0.ConcatPermute(t1, k).Merge(t, k.GreaterEqual(all(uint16(2*lanes*j))))
		}
		k = k.Add(one.Masked(q.Greater(t)))
		open := q.Equal(t).Or(q.GreaterEqual(limit))
		none.Merge(k.AsInt16x32().Xor(sign).Sub(sign), open).Store((*[lanes]int16)(to))
	}
	archsimd.ClearAVXUpperBits()
}

// add is addDecided.
func (v *inverse) add(dst, image []int16, prefixes []byte, open []uint16) []uint16 {
	whole := len(image) - len(image)%lanes
	v.look(dst[:whole], prefixes)
	low, high := archsimd.BroadcastInt16x32(int16(v.low)), archsimd.BroadcastInt16x32(int16(v.high))
	none, step := archsimd.BroadcastInt16x32(undecided), archsimd.BroadcastUint16x32(lanes)
	places, listed, rest := archsimd.LoadUint16x32(&firstPlaces), 0, image
	for to := dst; len(rest) >= lanes && len(to) >= lanes; to, rest = to[lanes:], rest[lanes:] {
		z := (*[lanes]int16)(to)
		k := archsimd.LoadInt16x32(z)
		k.AddSaturated(archsimd.LoadInt16x32((*[lanes]int16)(rest))).Max(low).Min(high).Store(z)
		left := k.Equal(none)
		places.Compress(left).Store((*[lanes]uint16)(open[listed:]))
		listed += bits.OnesCount32(left.ToBits())
		places = places.Add(step)
	}
	archsimd.ClearAVXUpperBits()
	n := 0
	for _, i := range open[:listed] {
		n = v.addOne(int(i), n, dst, image, prefixes, open)
	}
	return v.addFrom(whole, n, dst, image, prefixes, open)
}

var firstPlaces = func() (places [lanes]uint16) {
	for i := range places {
		places[i] = uint16(i)
	}
	return places
}()

// vectorBits encrypts 16 blocks of AES-128 at a time.
type vectorBits struct {
	keys  [11][16]uint32 // of a round, four times
	block uint64         // the next of counter mode
}

func newVectorBits(key [aes.BlockSize]byte, first uint64) randomBits {
	v := &vectorBits{block: first}
	var w [4]uint32
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	for round, constant := 0, uint32(1); ; round++ { // FIPS 197, section 5.2
		for i := range v.keys[round] {
			v.keys[round][i] = w[i%4]
		}
		if round == 10 {
			return v
		}
		w[0] ^= archsimd.LoadUint32x4(&w).AESRoundKeyGenAssist(0).GetElem(3) ^ constant
		w[1] ^= w[0]
		w[2] ^= w[1]
		w[3] ^= w[2]
		constant = constant<<1 ^ constant>>7*0x11b
	}
}

func (v *vectorBits) prefixes(to []byte) {
	n := len(to) / aes.BlockSize
	to = to[:(len(to)+255)&^255]
	next := [8]uint64{1: v.block, 3: v.block + 1, 5: v.block + 2, 7: v.block + 3}
	counters, step := archsimd.LoadUint64x8(&next), archsimd.BroadcastUint64x8(4)
	order := archsimd.LoadInt8x64(&bigEndian)
	for i := 0; i < len(to); i += 64 {
		counters.AsUint8x64().PermuteOrZeroGrouped(order).Store((*[64]byte)(to[i:]))
		counters = counters.Add(step)
	}
	v.block += uint64(n)
	v.encrypt(to)
}

// bigEndian is the order of bytes of a counter in the second half of each block; the first half is zero.
var bigEndian = func() (order [64]int8) {
	for i := range order {
		if order[i] = -1; i%16 >= 8 {
			order[i] = int8(23 - i%16)
		}
	}
	return order
}()

func (v *vectorBits) suffixes(places []uint64) {
	var blocks [256]byte
	for ; len(places) > 0; places = places[min(16, len(places)):] {
		for i, place := range places[:min(16, len(places))] {
			block := (*[16]byte)(blocks[aes.BlockSize*i:])
			binary.LittleEndian.PutUint64(block[:], 0x80)
			binary.BigEndian.PutUint64(block[8:], place)
		}
		v.encrypt(blocks[:])
		for i := range places[:min(16, len(places))] {
			places[i] = binary.LittleEndian.Uint64(blocks[aes.BlockSize*i:]) >> (64 - suffixBits)
		}
	}
}

// encrypt encrypts blocks in place, in sixteens.
func (v *vectorBits) encrypt(blocks []byte) {
	load := archsimd.LoadUint8x64
	for ; len(blocks) >= 256; blocks = blocks[256:] {
		p0, p1 := (*[64]byte)(blocks), (*[64]byte)(blocks[64:])
		p2, p3 := (*[64]byte)(blocks[128:]), (*[64]byte)(blocks[192:])
		k := archsimd.LoadUint32x16(&v.keys[0]).AsUint8x64()
		a, b, c, d := load(p0).Xor(k), load(p1).Xor(k), load(p2).Xor(k), load(p3).Xor(k)
		for round := 1; round < 10; round++ {
			k := archsimd.LoadUint32x16(&v.keys[round])
			a, b = a.AESEncryptOneRound(k), b.AESEncryptOneRound(k)
			c, d = c.AESEncryptOneRound(k), d.AESEncryptOneRound(k)
		}
		last := archsimd.LoadUint32x16(&v.keys[10])
		a.AESEncryptLastRound(last).Store(p0)
		b.AESEncryptLastRound(last).Store(p1)
		c.AESEncryptLastRound(last).Store(p2)
		d.AESEncryptLastRound(last).Store(p3)
	}
	archsimd.ClearAVXUpperBits()
}
