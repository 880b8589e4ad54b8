package jpeg

import "encoding/binary"

// bits reads bits of the entropy-coded data, from the highest of each byte.
type bits struct {
	data []byte
	at   int    // of the next byte that is not in word
	word uint64 // the next bits, from the highest; below them, zeros or bits of the bytes that follow
	n    int    // how many of them are there; negative: more were used than there were
}

// fill makes at least 57 bits ready, or all up to the next marker.
func (b *bits) fill() {
	if b.n < 0 {
		return
	}
	if b.at+8 <= len(b.data) {
		v := binary.BigEndian.Uint64(b.data[b.at:])
		const ones, highs = 0x0101010101010101, 0x8080808080808080
		if (^v-ones)&v&highs == 0 { // no byte is 0xff
			b.word |= v >> b.n
			k := (63 - b.n) >> 3
			b.at += k
			b.n += 8 * k
			return
		}
	}
	for b.n <= 56 && b.at < len(b.data) {
		c := b.data[b.at]
		if c == 0xff {
			if b.at+1 >= len(b.data) || b.data[b.at+1] != 0 {
				return
			}
			b.at++
		}
		b.at++
		b.word |= uint64(c) << (56 - b.n)
		b.n += 8
	}
}

// take is the next k bits, up to 16.
func (b *bits) take(k int) int32 {
	if b.n < k {
		b.fill()
	}
	v := int32(b.word >> (64 - k))
	b.word <<= k
	b.n -= k
	return v
}

func (b *bits) flag() bool {
	if b.n < 1 {
		b.fill()
	}
	set := b.word>>63 != 0
	b.word <<= 1
	b.n--
	return set
}

// damage lets the block end in an error.
func (b *bits) damage() { b.n = -1 << 20 }

const lookBits = 9

// huffman is a table of codes.
type huffman struct {
	look   [1 << lookBits]uint16 // by the next bits: length of the code × 256 + its value; 0: a longer code, or none
	least  [17]int32             // of the codes of a length
	beyond [17]int32             // one more than the largest; equal to least: none
	first  [17]int32             // place of its least code in values
	values []byte
}

func newHuffman(counts [16]byte, values []byte, dc bool) (*huffman, bool) {
	t := &huffman{values: values}
	code, place := int32(0), int32(0)
	for i, n := range counts {
		length := i + 1
		t.least[length], t.beyond[length], t.first[length] = code, code+int32(n), place
		if t.beyond[length] > 1<<length {
			return nil, false
		}
		for range n {
			if length <= lookBits {
				from := code << (lookBits - length)
				for k := range int32(1) << (lookBits - length) {
					t.look[from+k] = uint16(length)<<8 | uint16(values[place])
				}
			}
			code++
			place++
		}
		code <<= 1
	}
	for _, v := range values {
		if dc && v > 15 {
			return nil, false
		}
	}
	return t, true
}

// long finds a code that look does not have; length 0: there is none.
func (t *huffman) long(word uint64) (length int, value byte) {
	for length = lookBits + 1; length <= 16; length++ {
		code := int32(word >> (64 - length))
		if code >= t.least[length] && code < t.beyond[length] {
			return length, t.values[t.first[length]+code-t.least[length]]
		}
	}
	return 0, 0
}

// symbol reads a code.
func (b *bits) symbol(t *huffman) byte {
	if b.n < 16 {
		b.fill()
	}
	length, value := 0, byte(0)
	if e := t.look[b.word>>(64-lookBits)]; e != 0 {
		length, value = int(e>>8), byte(e)
	} else if length, value = t.long(b.word); length == 0 {
		b.damage()
		return 0
	}
	b.word <<= length
	b.n -= length
	return value
}

// extend is the number that s further bits stand for (T.81, F.2.2.1).
func (b *bits) extend(s byte) int32 {
	if s == 0 {
		return 0
	}
	v := b.take(int(s))
	if v < 1<<(s-1) {
		v += -1<<s + 1
	}
	return v
}
