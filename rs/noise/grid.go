package noise

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/certspec/certspec/pixel"
)

// Grid samples the exact integer-grid Gaussian for 8-bit images. It is immutable and safe for
// concurrent use.
//
// An image X on the grid of multiples of 1/255 becomes
//
//	Z = clamp(X + K, −255κ, 255(κ+1)),  κ = max(1, ⌊6σ⌋),
//
// with independent integers K of law
//
//	P[K = k] = Φ((2k+1)/(510σ)) − Φ((2k−1)/(510σ)),
//
// that is, 𝒩(0, (255σ)²) rounded to integers. As rounding commutes with shifts by integers, Z
// is distributed exactly like clamp(round(255·(x+δ))) for x = X/255 and real Gaussian δ.
// Smoothing the deterministic function v ↦ class(clamp(round(255v))/255) with real Gaussian
// noise is therefore sampled without any rounding error, and the radius of Cohen et al.
// (2019) holds for every input on the grid.
//
// K is decided by 60 fair bits u: it is the least k with u+1 ≤ 2⁶⁰Φ((2k+1)/(510σ)). Where u is
// the one cell that a threshold falls into, 60 bits do not decide; the sample is reported as
// failed and must be counted as a miss. That has a probability of at most (4700σ+4)·2⁻⁶⁰ per value, with
// the thresholds computed in exact integer arithmetic.
//
// The first 16 of the 60 bits mostly decide alone. A table tells the value, or that it takes the other 44 bits; only
// then are these computed. Each value has 60 bits of its own, even where fewer decide. So values are independent and
// have exactly the law of all 60 bits. Where the bits stand is said at gridStream.
type Grid struct {
	sigma     float64
	kappa     int
	low, high int      // limits of Z
	reach     int      // |K| ≤ reach
	cells     []uint64 // see thresholdCells
	table     *[1 << prefixBits]int16
	below     [1<<(prefixBits-bucketBits) + 1]uint16 // thresholds below 2^bucketBits prefixes
	// addDecided adds noise to an image where a prefix decides it, and lists the values that are left in open, which
	// has room for all.
	addDecided func(dst, image []int16, prefixes []byte, open []uint16) []uint16
}

// addVectors makes addDecided by vectors; nil where the processor has none, and its result where σ is too large.
var addVectors func(g *Grid) func(dst, image []int16, prefixes []byte, open []uint16) []uint16

const (
	prefixBits = 16
	suffixBits = wordBits - prefixBits
	bucketBits = 4
	undecided  = math.MinInt16
)

// maxGridSigma is the limit of σ for Grid: below it κ ≤ 63, and the difference of any two
// values within Limits is an int16, short of undecided.
const maxGridSigma = 64. / 6

var grids sync.Map // float64 → func() *Grid

// NewGrid returns the sampler for a standard deviation σ in units of the full pixel range, in
// (0, maxGridSigma). The tables of each σ are computed once per process and kept.
//
// Errors: σ outside that range, as *InputError.
func NewGrid(sigma float64) (*Grid, error) {
	if !(sigma > 0 && sigma < maxGridSigma) {
		return nil, &InputError{Argument: "sigma", Value: fmt.Sprint(sigma),
			Expected: fmt.Sprintf("a standard deviation in (0, %.4g) for noise on the grid", maxGridSigma)}
	}
	build, _ := grids.LoadOrStore(sigma, sync.OnceValue(func() *Grid { return newGrid(sigma) }))
	return build.(func() *Grid)(), nil
}

func newGrid(sigma float64) *Grid {
	kappa := max(1, int(6*sigma))
	g := &Grid{
		sigma: sigma,
		kappa: kappa,
		low:   -pixel.Steps * kappa,
		high:  pixel.Steps * (kappa + 1),
	}
	// Beyond high−low every Z is clamped; beyond farthest no 60 bits lead.
	g.reach = min(g.high-g.low, int(farthest*pixel.Steps*sigma)+2)
	g.cells = thresholdCells(sigma, g.reach)
	g.prefixes()
	if addVectors != nil {
		g.addDecided = addVectors(g)
	}
	if g.addDecided == nil {
		g.addDecided = g.addPlain
	}
	return g
}

// prefixes makes the table, which tells for each 16-bit prefix the value that it decides, or undecided where a
// threshold falls among the 60-bit words of that prefix.
func (g *Grid) prefixes() {
	g.table = new([1 << prefixBits]int16)
	i := 0 // the number of thresholds below the prefix
	for prefix := range g.table {
		if prefix%(1<<bucketBits) == 0 {
			g.below[prefix>>bucketBits] = uint16(i)
		}
		end := uint64(prefix+1) << suffixBits
		start := i
		for i < len(g.cells) && g.cells[i] < end {
			i++
		}
		if i > start {
			g.table[prefix] = undecided
		} else {
			g.table[prefix] = int16(i - g.reach)
		}
	}
	g.below[len(g.below)-1] = uint16(i)
}

// Sigma is the standard deviation in units of the full pixel range.
func (g *Grid) Sigma() float64 { return g.sigma }

// Limits are the smallest and the largest value of a noise sample, −255κ and 255(κ+1).
func (g *Grid) Limits() (low, high int16) { return int16(g.low), int16(g.high) }

// AddTo fills dst with len(dst)/len(image) noise samples of the grid image, one after the other: those numbered first,
// first+1, ... of the block at the address. It appends to failed the indices, counted from the start of dst, of the
// samples whose noise 60 bits do not decide, and returns it. Their content is not of the law, and each must count as a
// miss.
//
// Errors: a value of the image outside Limits, as *InputError. It panics where dst does not hold
// whole images or first is negative.
func (g *Grid) AddTo(dst, image []int16, at Address, first int, failed []int) ([]int, error) {
	n := samples(len(dst), len(image), first)
	if err := g.within(image); err != nil {
		return failed, err
	}
	s := newGridStream(LawGrid, at, first, blocks(len(image)))
	for i := range n {
		if !g.add(dst[i*len(image):(i+1)*len(image)], image, s) {
			failed = append(failed, i)
		}
	}
	return failed, nil
}

// within refuses values outside of Limits.
func (g *Grid) within(image []int16) error {
	for i, x := range image {
		if int(x) < g.low || int(x) > g.high {
			return &InputError{Argument: fmt.Sprintf("image value %d", i), Value: fmt.Sprint(x),
				Expected: fmt.Sprintf("a grid value in [%d, %d]", g.low, g.high)}
		}
	}
	return nil
}

// add draws the next sample and reports whether all its values are decided.
func (g *Grid) add(dst, image []int16, s *gridStream) (ok bool) {
	ok = true
	for len(image) > 0 {
		n := min(len(image), valuesPerChunk)
		place, prefixes := s.prefixes(n)
		open := g.addDecided(dst[:n], image[:n], prefixes, s.open[:])
		words := s.words[:len(open)]
		for j, i := range open {
			words[j] = place + uint64(i)
		}
		s.bits.suffixes(words)
		for j, i := range open {
			k, decided := g.decide(binary.LittleEndian.Uint16(prefixes[2*i:]), words[j])
			dst[i], ok = g.clamp(int(image[i])+k), ok && decided
		}
		dst, image = dst[n:], image[n:]
	}
	return ok
}

func (g *Grid) addPlain(dst, image []int16, prefixes []byte, open []uint16) []uint16 {
	return g.addFrom(0, 0, dst, image, prefixes, open)
}

// addFrom is addPlain from value i on, and lists after the first n in open.
func (g *Grid) addFrom(i, n int, dst, image []int16, prefixes []byte, open []uint16) []uint16 {
	span := uint(g.high - g.low)
	for ; i+4 <= len(image); i += 4 {
		word := binary.LittleEndian.Uint64(prefixes[2*i:])
		x, to := (*[4]int16)(image[i:]), (*[4]int16)(dst[i:])
		z0 := int(x[0]) + int(g.table[uint16(word)])
		z1 := int(x[1]) + int(g.table[uint16(word>>16)])
		z2 := int(x[2]) + int(g.table[uint16(word>>32)])
		z3 := int(x[3]) + int(g.table[word>>48])
		to[0], to[1], to[2], to[3] = int16(z0), int16(z1), int16(z2), int16(z3)
		// Below low and above high in one comparison; undecided lies below any z.
		if uint(z0-g.low) > span || uint(z1-g.low) > span || uint(z2-g.low) > span || uint(z3-g.low) > span {
			for j := range 4 {
				n = g.addOne(i+j, n, dst, image, prefixes, open)
			}
		}
	}
	for ; i < len(image); i++ {
		n = g.addOne(i, n, dst, image, prefixes, open)
	}
	return open[:n]
}

// addOne adds noise to value i, or lists it after the first n in open, and returns how many are listed.
func (g *Grid) addOne(i, n int, dst, image []int16, prefixes []byte, open []uint16) int {
	k := g.table[binary.LittleEndian.Uint16(prefixes[2*i:])]
	dst[i], open[n] = g.clamp(int(image[i])+int(k)), uint16(i)
	if k == undecided {
		n++
	}
	return n
}

func (g *Grid) clamp(z int) int16 { return int16(max(g.low, min(g.high, z))) }

// decide finds K from an undecided prefix and the further 44 bits; ok is false where all 60
// bits together are the cell of a threshold.
func (g *Grid) decide(prefix uint16, suffix uint64) (k int, ok bool) {
	u := uint64(prefix)<<suffixBits | suffix
	from, to := g.below[prefix>>bucketBits], g.below[prefix>>bucketBits+1]
	for from < to && g.cells[from] < u {
		from++
	}
	return int(from) - g.reach, from == to || g.cells[from] != u
}
