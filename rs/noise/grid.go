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
}

const (
	prefixBits = 16
	suffixBits = wordBits - prefixBits
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
	g.table = prefixTable(g.cells, g.reach)
	return g
}

// prefixTable tells for each 16-bit prefix the value that it decides, or undecided where a
// threshold falls among the 60-bit words of that prefix.
func prefixTable(cells []uint64, reach int) *[1 << prefixBits]int16 {
	table := new([1 << prefixBits]int16)
	i := 0 // the number of thresholds below the prefix
	for prefix := range table {
		end := uint64(prefix+1) << suffixBits
		start := i
		for i < len(cells) && cells[i] < end {
			i++
		}
		if i > start {
			table[prefix] = undecided
		} else {
			table[prefix] = int16(i - reach)
		}
	}
	return table
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
	for i, x := range image {
		if int(x) < g.low || int(x) > g.high {
			return failed, &InputError{Argument: fmt.Sprintf("image value %d", i), Value: fmt.Sprint(x),
				Expected: fmt.Sprintf("a grid value in [%d, %d]", g.low, g.high)}
		}
	}
	s := newGridStream(at, first, len(image))
	for i := range n {
		if !g.add(dst[i*len(image):(i+1)*len(image)], image, s) {
			failed = append(failed, i)
		}
	}
	return failed, nil
}

// add draws the next sample and reports whether all its values are decided.
func (g *Grid) add(dst, image []int16, s *gridStream) (ok bool) {
	ok = true
	for len(image) > 0 {
		n := min(len(image), valuesPerChunk)
		place, prefixes := s.prefixes(n)
		for _, i := range addDecided(g, dst[:n], image[:n], prefixes, s.open[:]) {
			ok = g.slow(&dst[i], image[i], binary.LittleEndian.Uint16(prefixes[2*i:]), s, place+uint64(i)) && ok
		}
		dst, image = dst[n:], image[n:]
	}
	return ok
}

// addDecided is addDecidedFrom the first value on; vectors do it where the processor has them.
var addDecided = addPlain

func addPlain(g *Grid, dst, image []int16, prefixes []byte, open []uint16) []uint16 {
	return g.addDecidedFrom(0, 0, dst, image, prefixes, open)
}

// addDecidedFrom adds noise to an image from value i on where the table has it. After the first n in open it lists
// the values that are left: those that the table does not decide, and those beside them. There is room for all.
func (g *Grid) addDecidedFrom(i, n int, dst, image []int16, prefixes []byte, open []uint16) []uint16 {
	span := uint(g.high - g.low)
	dst, image, prefixes = dst[i:], image[i:], prefixes[2*i:]
	for ; len(image) >= 4 && len(dst) >= 4 && len(prefixes) >= 8; i += 4 {
		word := binary.LittleEndian.Uint64(prefixes)
		z0 := int(image[0]) + int(g.table[uint16(word)])
		z1 := int(image[1]) + int(g.table[uint16(word>>16)])
		z2 := int(image[2]) + int(g.table[uint16(word>>32)])
		z3 := int(image[3]) + int(g.table[word>>48])
		dst[0], dst[1], dst[2], dst[3] = int16(z0), int16(z1), int16(z2), int16(z3)
		// Below low and above high in one comparison; undecided lies below any z.
		if uint(z0-g.low) > span || uint(z1-g.low) > span || uint(z2-g.low) > span || uint(z3-g.low) > span {
			*(*[4]uint16)(open[n:]) = [4]uint16{uint16(i), uint16(i + 1), uint16(i + 2), uint16(i + 3)}
			n += 4
		}
		image, dst, prefixes = image[4:], dst[4:], prefixes[8:]
	}
	for range image {
		open[n] = uint16(i)
		n, i = n+1, i+1
	}
	return open[:n]
}

// slow draws one value, whatever its prefix is.
func (g *Grid) slow(dst *int16, x int16, prefix uint16, s *gridStream, place uint64) (ok bool) {
	k, ok := int(g.table[prefix]), true
	if k == undecided {
		k, ok = g.decide(prefix, s.suffix(place))
	}
	*dst = int16(max(g.low, min(g.high, int(x)+k)))
	return ok
}

// decide finds K from an undecided prefix and the further 44 bits; ok is false where all 60
// bits together are the cell of a threshold.
func (g *Grid) decide(prefix uint16, suffix uint64) (k int, ok bool) {
	u := uint64(prefix)<<suffixBits | suffix
	// The nearest decided prefix below tells how many thresholds lie below it.
	i := 0
	for p := int(prefix) - 1; p >= 0; p-- {
		if v := g.table[p]; v != undecided {
			i = int(v) + g.reach
			break
		}
	}
	for i < len(g.cells) && g.cells[i] < u {
		i++
	}
	return i - g.reach, i == len(g.cells) || g.cells[i] != u
}
