package augment

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// streamVersion is part of every key: where an algorithm changes what it draws, this changes.
const streamVersion = "augment/1"

// Address says which view of which image is drawn.
type Address struct {
	Seed  uint64 // of the run
	Epoch uint64
	Image uint64 // stable id of the image in its data set
	View  uint64 // number of the view of the image
}

// Stream gives the random numbers of one view: AES-128 in counter mode from 0 on (NIST SP 800-38A), read as
// little-endian words. The key is the first half of a SHA-256. Its input is "augment/1" filled up with zeros to 16
// bytes, then seed, epoch, image and view as little-endian words of 8 bytes.
//
// Single numbers are made of 8 bytes each, in the order in which they are asked for. A stream serves one goroutine.
type Stream struct {
	counter cipher.Stream
	buffer  [512]byte
	left    int // bytes of the buffer that are still to be read
}

// NewStream is the stream of an address.
func NewStream(at Address) *Stream {
	var message [48]byte
	copy(message[:16], streamVersion)
	for i, word := range [4]uint64{at.Seed, at.Epoch, at.Image, at.View} {
		binary.LittleEndian.PutUint64(message[16+8*i:], word)
	}
	key := sha256.Sum256(message[:])
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		panic("augment: " + err.Error()) // cannot be: the length of the key is constant
	}
	return &Stream{counter: cipher.NewCTR(block, make([]byte, aes.BlockSize))}
}

// Uint64 is the next 8 bytes. It makes a Stream a rand.Source.
func (s *Stream) Uint64() uint64 {
	if s.left < 8 {
		clear(s.buffer[:])
		s.counter.XORKeyStream(s.buffer[:], s.buffer[:])
		s.left = len(s.buffer)
	}
	v := binary.LittleEndian.Uint64(s.buffer[len(s.buffer)-s.left:])
	s.left -= 8
	return v
}

// Float64 is uniform in (0, 1): (k + ½)·2⁻⁵² with k the top 52 bits.
func (s *Stream) Float64() float64 { return (float64(s.Uint64()>>12) + 0.5) * 0x1p-52 }

// Between is uniform between low and high.
func (s *Stream) Between(low, high float64) float64 { return low + float64((high-low)*s.Float64()) }

// IntN returns a whole number in [0, n): the upper word of 64 bits times n. So probabilities differ from 1/n by less
// than 2⁻⁶⁴.
func (s *Stream) IntN(n int) int {
	high, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int(high)
}

// Sign is −1 or 1.
func (s *Stream) Sign() float64 { return float64(2*s.IntN(2) - 1) }

// Simplex fills w with a point of the simplex of its length, uniform: Dirichlet(1, …, 1). It is the gaps between
// sorted uniform numbers.
func (s *Stream) Simplex(w []float64) {
	last := len(w) - 1
	for i := range last {
		v := s.Float64()
		j := i
		for ; j > 0 && w[j-1] > v; j-- {
			w[j] = w[j-1]
		}
		w[j] = v
	}
	w[last] = 1
	for i := last; i > 0; i-- {
		w[i] -= w[i-1]
	}
}

// fill draws a block of bytes. Numbers drawn before it come from what was buffered, numbers after it from what is still
// buffered and then from behind the block.
func (s *Stream) fill(block []byte) {
	clear(block)
	s.counter.XORKeyStream(block, block)
}
