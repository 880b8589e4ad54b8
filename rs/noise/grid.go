package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
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
// the one cell that a threshold falls into, 60 bits do not decide; the copy is reported as
// failed and must be counted as a miss. That has a probability of at most 2·9.3·255σ·2⁻⁶⁰ per value.
//
// The first 16 of the 60 bits mostly decide alone. A table tells the value, or that it takes
// the other 44 bits; these are then read from the next word of the copy's stream. Every bit
// of the stream is used at most once, and whether it is used for this value or a later one
// depends on earlier bits only, so that values are independent and of the law of all 60 bits.
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

// MaxGridSigma is the limit of σ for Grid: κ = ⌊6σ⌋ stays below 128, so that Z is an int16.
const MaxGridSigma = 128. / 6

var grids sync.Map // float64 → func() *Grid

// NewGrid returns the sampler for a standard deviation σ in units of the full pixel range, in
// (0, MaxGridSigma). The tables of each σ are computed once per process and kept.
//
// Errors: σ outside that range, as *InputError.
func NewGrid(sigma float64) (*Grid, error) {
	if !(sigma >= math.SmallestNonzeroFloat64 && sigma < MaxGridSigma) {
		return nil, &InputError{Argument: "sigma", Value: fmt.Sprint(sigma),
			Expected: fmt.Sprintf("a standard deviation in (0, %.4g) for noise on the grid", MaxGridSigma)}
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

// Limits are the smallest and the largest value of a noisy copy, −255κ and 255(κ+1).
func (g *Grid) Limits() (low, high int16) { return int16(g.low), int16(g.high) }

// AddTo fills dst with len(dst)/len(image) noisy copies of the grid image, one after the
// other: those numbered first, first+1, ... of the block at the address. It appends to failed
// the indices, counted from the start of dst, of the copies whose noise 60 bits do not
// decide, and returns it; their content is not of the law, and each must count as a miss.
//
// Errors: a value of the image outside Limits, as *InputError. It panics where dst does not hold
// whole images or first is negative.
func (g *Grid) AddTo(dst, image []int16, at Address, first int, failed []int) ([]int, error) {
	n := copies(len(dst), len(image))
	for i, x := range image {
		if int(x) < g.low || int(x) > g.high {
			return failed, &InputError{Argument: fmt.Sprintf("image value %d", i), Value: fmt.Sprint(x),
				Expected: fmt.Sprintf("a grid value in [%d, %d]", g.low, g.high)}
		}
	}
	var s stream
	s.seek(LawGrid, at, first)
	for i := range n {
		s.next()
		if !g.add(dst[i*len(image):(i+1)*len(image)], image, &s.copy) {
			failed = append(failed, i)
		}
	}
	return failed, nil
}

// add draws one copy and reports whether all its values are decided. A word of the stream
// holds the prefixes of four values, the first one lowest.
func (g *Grid) add(dst, image []int16, source *rand.ChaCha8) (ok bool) {
	ok = true
	for len(image) > 0 {
		word := source.Uint64()
		m := min(4, len(image))
		for i := range m {
			k := int(g.table[uint16(word)])
			if k == undecided {
				var decided bool
				k, decided = g.decide(uint64(uint16(word)), source.Uint64())
				ok = ok && decided
			}
			dst[i] = int16(max(g.low, min(g.high, int(image[i])+k)))
			word >>= prefixBits
		}
		dst, image = dst[m:], image[m:]
	}
	return ok
}

// decide finds K from an undecided prefix and the top 44 bits of a further word; ok is false
// where all 60 bits together are the cell of a threshold.
func (g *Grid) decide(prefix, word uint64) (k int, ok bool) {
	u := prefix<<suffixBits | word>>(64-suffixBits)
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
