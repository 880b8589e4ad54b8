package noise

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/certspec/certspec/pixel"
)

// Sampler draws noise samples of grid images, exactly.
type Sampler interface {
	Sigma() float64
	Limits() (low, high int16)
	AddTo(dst, image []int16, at Address, first int, failed []int) ([]int, error)
}

// NewSampler gives the sampler of a law that is Sound.
//
// Errors: those of NewGrid; another law, and a standard deviation of grey that is too large beside
// σ, as *InputError.
func NewSampler(law Law, sigma float64) (Sampler, error) {
	if !law.Sound() {
		return nil, &InputError{Argument: "noise law", Value: fmt.Sprintf("%q", law),
			Expected: "a law on the grid"}
	}
	grid, err := NewGrid(sigma)
	if err != nil {
		return nil, err
	}
	sd, more := law.Grey()
	if !more {
		return grid, nil
	}
	grey, err := NewGrid(sd)
	if err != nil {
		return nil, err
	}
	// In spectrum.add a sum stays an int16, and below low where a prefix does not decide.
	if grid.high-grid.low+grey.reach > math.MaxInt16 {
		return nil, &InputError{Argument: "sigma", Value: fmt.Sprint(sigma),
			Expected: fmt.Sprintf("a smaller standard deviation beside grey@0=%v", sd)}
	}
	return &spectrum{grid, grey}, nil
}

// spectrum samples a Gaussian that has one more mode than Grid: a shift of all values together, by
// whole levels. An image X becomes
//
//	Z = clamp(X + k·(1, …, 1) + K),  P[k = j] = Φ((2j+1)/(510t)) − Φ((2j−1)/(510t)),
//
// with K and the limits of Grid, and t the standard deviation of grey in units of the full range.
//
// For real changes D of the image in levels and every integer u let
//
//	N² = (‖D − u·(1, …, 1)‖/(255σ))² + (u/(255t))².
//
// A class of probability p > ½ at X remains the most likely one at X + D if N < Φ⁻¹(p), and keeps a
// probability of Φ(Φ⁻¹(p) − N). Proof: F(y, v) = class(clamp(⌊y + ⌊v+½⌋ + ½⌋)) is a fixed function
// of d+1 real numbers. Smoothed by 𝒩(0, (255σ)²) in y and 𝒩(0, (255t)²) in v, its value at (X, 0)
// bounds that at (X + D − u, u), at scaled distance N (Cohen et al. 2019). As ⌊u+v+½⌋ = u + ⌊v+½⌋,
// that is its value at (X + D, 0). So u has to be an integer, and the clamp has to come last. With
// u = 0 it is the ℓ2 radius of Grid.
//
// The bits come from gridStream, under the name of this law; the first eight places of a sample
// are of k.
type spectrum struct{ grid, grey *Grid }

func (s *spectrum) Sigma() float64            { return s.grid.Sigma() }
func (s *spectrum) Limits() (low, high int16) { return s.grid.Limits() }

// AddTo is that of Grid.
func (s *spectrum) AddTo(dst, image []int16, at Address, first int, failed []int) ([]int, error) {
	n := samples(len(dst), len(image), first)
	if err := s.grid.within(image); err != nil {
		return failed, err
	}
	stream := newGridStream(lawSpectrum, at, first, 1+blocks(len(image)))
	shifted := make([]int16, len(image))
	for i := range n {
		k, decided := s.grey.one(stream)
		for j, x := range image {
			shifted[j] = x + int16(k)
		}
		if !s.grid.add(dst[i*len(image):(i+1)*len(image)], shifted, stream) || !decided {
			failed = append(failed, i)
		}
	}
	return failed, nil
}

// one draws a single value, which is not clamped.
func (g *Grid) one(s *gridStream) (k int, decided bool) {
	place, prefixes := s.prefixes(1)
	prefix := binary.LittleEndian.Uint16(prefixes)
	if k := g.table[prefix]; k != undecided {
		return int(k), true
	}
	words := s.words[:1]
	words[0] = place
	s.bits.suffixes(words)
	return g.decide(prefix, words[0])
}

const (
	lawSpectrum  Law = "spectrum/1"
	spectrumWord     = "spectrum"
	greyMode         = "grey@0="
	largestGrey      = 1. // sd of grey in units of the full range
	smallestGrey     = 1. / (4 * pixel.Steps)
)

// parseSpectrum reads the modes of a law, as "grey@0=0.05".
func parseSpectrum(modes string) (Law, error) {
	text, found := strings.CutPrefix(modes, greyMode)
	sd, err := strconv.ParseFloat(text, 64)
	if !found || err != nil || !(sd >= smallestGrey && sd <= largestGrey) || strings.ContainsAny(text, "xXpP_") {
		return "", &InputError{Argument: "noise law", Value: strconv.Quote(spectrumWord + ":" + modes),
			Expected: `"spectrum:grey@0=0.05", a standard deviation from 0.001 to 1 of the grey of all pixels ` +
				`together`}
	}
	return lawSpectrum + ":" + greyMode + Law(strconv.FormatFloat(sd, 'f', -1, 64)), nil
}

// Grey is the standard deviation of a shift of all values together that the law has besides σ, in
// units of the full range; false: it has none.
func (l Law) Grey() (sd float64, more bool) {
	modes, found := strings.CutPrefix(string(l), string(lawSpectrum)+":")
	again, err := parseSpectrum(modes)
	if !found || err != nil || again != l {
		return 0, false
	}
	sd, _ = strconv.ParseFloat(strings.TrimPrefix(modes, greyMode), 64)
	return sd, true
}
