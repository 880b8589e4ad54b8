// Package noise draws the noise under which a classifier is smoothed.
//
// Noise has an address: law, seed of the run, id of the image, block, and number of the sample in the block. The noise
// of a sample is a function of its address alone. So the same samples come out however a run is split over time,
// workers and batches. σ is not part of the address: two runs that differ in σ alone use the same random bits.
//
// Grid is the exact law for 8-bit images: what it certifies holds in floating point. Gaussian
// adds float32 normal values, and its certificates hold in real arithmetic only.
package noise

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// Law names a noise law together with the version of its random streams, as it is written
// into the header of a ledger. "spectrum/1:grey@0=0.05" is Grid with one more mode, a shift of all
// values together: see Law.Grey.
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
	if word, modes, found := strings.Cut(name, ":"); found && (word == spectrumWord || word == string(lawSpectrum)) {
		return parseSpectrum(modes)
	}
	return "", &InputError{Argument: "noise law", Value: fmt.Sprintf("%q", name),
		Expected: `"grid", "gaussian" ("grid/1", "gaussian/1") or "spectrum:grey@0=0.05"`}
}

// Sound reports whether certificates under this law hold in floating point and not only in
// real arithmetic.
func (l Law) Sound() bool {
	_, more := l.Grey()
	return more || l == LawGrid
}

// Address says where in a run a block of noise samples stands.
type Address struct {
	Seed  uint64 // of the run
	Image uint64 // stable id of the image in its data set
	Block uint64 // number of the block of samples
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

// key is the SHA-256 of all that a stream of random bits depends on, in fields of fixed
// width, so that two addresses never share a message.
func key(law Law, at Address, copyNumber uint64) [sha256.Size]byte {
	const width = 16
	var message [width + 4*8]byte
	if copy(message[:width], law) < len(law) {
		panic("noise: the name of a law is too long")
	}
	binary.LittleEndian.PutUint64(message[width:], at.Seed)
	binary.LittleEndian.PutUint64(message[width+8:], at.Image)
	binary.LittleEndian.PutUint64(message[width+16:], at.Block)
	binary.LittleEndian.PutUint64(message[width+24:], copyNumber)
	return sha256.Sum256(message[:])
}

// samples is how many images of the given length fill a buffer; the first has the given number.
func samples(buffer, image, first int) int {
	if first < 0 {
		panic(fmt.Sprintf("noise: the number of a noise sample is %d", first))
	}
	if image == 0 || buffer%image != 0 {
		panic(fmt.Sprintf("noise: a buffer of %d values does not hold whole images of %d values", buffer, image))
	}
	return buffer / image
}
