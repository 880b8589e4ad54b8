// Package noise draws the noise under which a classifier is smoothed.
//
// Noise has an address: the noise of a copy is a function of the law, the run's seed, the
// image's id, the block and the number of the copy in the block, and of nothing else. So the
// same copies come out however a run is split over time, workers and batches. σ is not part
// of the address: two runs that differ in σ alone use the same random bits.
//
// Grid is the exact law for 8-bit images: what it certifies holds in floating point. Gaussian
// adds float32 normal values, and its certificates hold in real arithmetic only.
package noise

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Law names a noise law together with the version of its random streams, as it is written
// into the header of a ledger.
type Law string

const (
	LawGrid     Law = "grid/1"     // Gaussian rounded to the grid of 8-bit images, sampled exactly: see Grid
	LawGaussian Law = "gaussian/1" // Gaussian in floating point: see Gaussian
)

// ParseLaw reads the name of a law, with or without its version; the empty name is LawGrid.
func ParseLaw(name string) (Law, error) {
	switch name {
	case "", "grid", string(LawGrid):
		return LawGrid, nil
	case "gaussian", string(LawGaussian):
		return LawGaussian, nil
	}
	return "", &InputError{Argument: "noise law", Value: fmt.Sprintf("%q", name), Expected: `"grid" or "gaussian" ("grid/1", "gaussian/1")`}
}

// Sound reports whether certificates under this law hold in floating point and not only in
// real arithmetic.
func (l Law) Sound() bool { return l == LawGrid }

// Address says where in a run a block of noisy copies stands.
type Address struct {
	Seed  uint64 // of the run
	Image uint64 // stable id of the image in its data set
	Block uint64 // number of the block of copies
}

// InputError reports an argument outside its range.
type InputError struct {
	Argument string // name of the argument, e.g. "sigma"
	Value    string // the offending value
	Expected string // what was expected
}

func (e *InputError) Error() string {
	return fmt.Sprintf("noise: %s is %s, expected %s", e.Argument, e.Value, e.Expected)
}

// stream gives the random words of the copies of one block, one copy after the other.
//
// The key of the block is the SHA-256 of law, seed, image and block in fields of fixed width.
// ChaCha8 under that key gives each copy a key of 32 bytes, in order; ChaCha8 under the key
// of the copy gives its words. The output of math/rand/v2's ChaCha8 is fixed by its
// specification (C2SP chacha8rand).
type stream struct {
	keys rand.ChaCha8
	copy rand.ChaCha8
}

// seek places the stream before copy number first of the block.
func (s *stream) seek(law Law, at Address, first int) {
	const lawWidth = 16
	var message [lawWidth + 3*8]byte
	if copy(message[:lawWidth], law) < len(law) {
		panic("noise: name of a law is too long")
	}
	binary.LittleEndian.PutUint64(message[lawWidth:], at.Seed)
	binary.LittleEndian.PutUint64(message[lawWidth+8:], at.Image)
	binary.LittleEndian.PutUint64(message[lawWidth+16:], at.Block)
	s.keys.Seed(sha256.Sum256(message[:]))
	for range 4 * first {
		s.keys.Uint64()
	}
}

// next goes on to the next copy.
func (s *stream) next() {
	var key [32]byte
	for i := 0; i < len(key); i += 8 {
		binary.LittleEndian.PutUint64(key[i:], s.keys.Uint64())
	}
	s.copy.Seed(key)
}

// copies is how many images of the given length fit into a buffer, which they must fill.
func copies(buffer, image int) int {
	if image == 0 || buffer%image != 0 {
		panic(fmt.Sprintf("noise: a buffer of %d values does not hold whole images of %d values", buffer, image))
	}
	return buffer / image
}
