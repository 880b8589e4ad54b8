package noise

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

const (
	valuesPerBlock = aes.BlockSize * 8 / prefixBits // values whose prefixes one block of the cipher holds
	valuesPerChunk = 2048                           // values whose prefixes are made at a time
)

// gridStream gives the random bits of the samples of one block, one sample after the other.
//
// They come from one random function, AES-128 under the first half of the SHA-256 of law and
// address. A sample of an image of L values has ⌈L/8⌉·8 places, one after the other; value i of
// sample c has place 8c⌈L/8⌉ + i. Counter mode from 0 on (NIST SP 800-38A, big-endian counter)
// gives two bytes to each place, the prefix, little-endian. The suffix of a place is the top
// 44 bits of the first eight bytes, little-endian, of the encryption of 2¹²⁷ + place, a
// counter that the prefixes never reach.
type gridStream struct {
	bits  randomBits
	place uint64 // of the next prefix
	chunk [2 * valuesPerChunk]byte
	open  [valuesPerChunk + 32]uint16 // scratch of Grid.add; a vector is stored beyond the last
	words [valuesPerChunk]uint64      // likewise
}

type randomBits interface {
	// prefixes fills whole blocks with the next of counter mode. There is room behind them up to a multiple of
	// 256 bytes.
	prefixes(to []byte)
	// suffixes replaces places by the suffixes there.
	suffixes(places []uint64)
}

// newBits begins counter mode at a block; vectors do it where the processor has them.
var newBits = newCipherBits

// cipherBits are by the standard library.
type cipherBits struct {
	cipher  cipher.Block
	counter cipher.Stream
	block   [aes.BlockSize]byte
}

func newCipherBits(key [aes.BlockSize]byte, first uint64) randomBits {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("noise: " + err.Error()) // cannot be: the length of the key is constant
	}
	var start [aes.BlockSize]byte
	binary.BigEndian.PutUint64(start[8:], first)
	return &cipherBits{cipher: block, counter: cipher.NewCTR(block, start[:])}
}

var zeros [2 * valuesPerChunk]byte // what counter mode is added to

func (b *cipherBits) prefixes(to []byte) { b.counter.XORKeyStream(to, zeros[:len(to)]) }

func (b *cipherBits) suffixes(places []uint64) {
	for i, place := range places {
		clear(b.block[:])
		b.block[0] = 0x80
		binary.BigEndian.PutUint64(b.block[8:], place)
		b.cipher.Encrypt(b.block[:], b.block[:])
		places[i] = binary.LittleEndian.Uint64(b.block[:]) >> (64 - suffixBits)
	}
}

// newGridStream returns the stream of a block from sample number first on, of so many blocks of the
// cipher each.
func newGridStream(law Law, at Address, first, blocks int) *gridStream {
	secret := key(law, at, 0)
	start := uint64(first) * uint64(blocks)
	return &gridStream{bits: newBits([aes.BlockSize]byte(secret[:aes.BlockSize]), start), place: start * valuesPerBlock}
}

// blocks is the number of blocks of the cipher that hold the prefixes of so many values.
func blocks(values int) int { return (values + valuesPerBlock - 1) / valuesPerBlock }

// prefixes returns the next prefixes, of at most valuesPerChunk values, and the place of the
// first of them. Only the last chunk of a sample may be no multiple of valuesPerBlock. The
// slice is good until the next call.
func (s *gridStream) prefixes(values int) (place uint64, bytes []byte) {
	n := blocks(values)
	place = s.place
	s.place += uint64(n) * valuesPerBlock
	s.bits.prefixes(s.chunk[:n*aes.BlockSize])
	return place, s.chunk[:2*values]
}
