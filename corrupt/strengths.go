package corrupt

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/certspec/certspec/pixel"
)

// Strengths is a corruption over a range of strengths θ, such as JPEG at every quality from 10 to
// 100. An image of bytes becomes one of finitely many images under it, so that a classifier can be
// asked about all of them.
//
//	brightness=-51:51     θ levels are added to every byte; the sum is clipped to 0 … 255. θ is a whole number
//	jpeg=10:100           baseline JPEG of quality θ, 1 to 100, as the corruption "jpeg_compression" has it
//	shift=-2:2            up to 2 pixels down and right, each way; the edge pixels are repeated
//	contrast=0.7:1.3      ⌊(v − 127.5)·θ + 128⌋ of every byte v, clipped to 0 … 255. θ is a real number from 0 to 10
//
// The list of a contrast is complete over the reals: it has an image for each θ at which a byte
// changes, and one for each open interval in between.
type Strengths struct {
	name     string
	from, to *big.Rat
}

// strengthsKind makes the list of one corruption.
type strengthsKind struct {
	whole     bool // θ is a whole number
	low, high int64
	list      func(s Strengths, shape pixel.Shape) (*list, error)
}

var strengthsKinds = map[string]strengthsKind{
	"brightness": {true, -255, 255, brightnessLevels},
	"jpeg":       {true, 1, 100, jpegQualities},
	"shift":      {true, -16, 16, shifts},
	"contrast":   {false, 0, 10, contrasts},
}

// ParseStrengths reads a range as String writes it, for example "jpeg=10:100".
//
// Errors: a name without a list and a range that it does not have, as *SettingError.
func ParseStrengths(text string) (Strengths, error) {
	name, ends, _ := strings.Cut(text, "=")
	kind, known := strengthsKinds[name]
	if !known {
		return Strengths{}, &SettingError{name, "a range of strengths of it", "one of " +
			strings.Join(slices.Sorted(maps.Keys(strengthsKinds)), ", ") + ", for example jpeg=10:100"}
	}
	first, last, found := strings.Cut(ends, ":")
	from, fromOK := strength(first)
	to, toOK := strength(last)
	low, high := big.NewRat(kind.low, 1), big.NewRat(kind.high, 1)
	if !found || !fromOK || !toOK || from.Cmp(to) > 0 || from.Cmp(low) < 0 || to.Cmp(high) > 0 ||
		kind.whole && !(from.IsInt() && to.IsInt()) {
		numbers := "two numbers of at most 4 decimals"
		if kind.whole {
			numbers = "two whole numbers"
		}
		return Strengths{}, &SettingError{name, fmt.Sprintf("the range %q", ends),
			fmt.Sprintf("FROM:TO, %s from %d to %d", numbers, kind.low, kind.high)}
	}
	if name == "shift" && new(big.Rat).Neg(from).Cmp(to) != 0 {
		return Strengths{}, &SettingError{name, fmt.Sprintf("the range %q", ends), "-K:K, for example shift=-2:2"}
	}
	return Strengths{name, from, to}, nil
}

// strength reads a decimal number in its shortest form.
func strength(text string) (*big.Rat, bool) {
	if len(text) > 8 || strings.Trim(text, "-0123456789.") != "" {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(text)
	return r, ok && decimal(r) == text
}

// decimal writes a number of at most 4 decimals.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(4), "0")
}

func (s Strengths) String() string { return s.name + "=" + decimal(s.from) + ":" + decimal(s.to) }

// Orbits prepares the lists of images of a shape.
//
// Errors: a shape that the corruption does not take, as *SettingError.
func (s Strengths) Orbits(shape pixel.Shape) (*Orbits, error) {
	if !shape.Valid() {
		return nil, &SettingError{s.name, "images of " + shape.String(), "sides and channels above 0"}
	}
	l, err := strengthsKinds[s.name].list(s, shape)
	if err != nil {
		return nil, err
	}
	return &Orbits{shape, *l}, nil
}

// list has the strengths of a corruption, in ascending order of index.
type list struct {
	len       int
	unchanged int // the index nearest to no corruption
	theta     func(i int) string
	spaced    func(n int) []int
	build     func() func(dst, src []uint8, i int) // for one goroutine
}

// Orbits gives the complete list of what an image becomes under a range of strengths. It is safe
// for concurrent use.
type Orbits struct {
	shape pixel.Shape
	list  list
}

// Len is the number of strengths in the list. Two neighbours of them may make the same of an image.
func (o *Orbits) Len() int { return o.list.len }

// Theta is the strength at an index: a whole number; for shifts the pixels down and right, as
// "1,-2"; for contrast a fraction, the middle one where the index stands for an open interval.
func (o *Orbits) Theta(i int) string { return o.list.theta(i) }

// Spaced gives the indices of n strengths at equal distances, both ends among them. For shifts it
// is the four corners and the centre, whatever n is.
func (o *Orbits) Spaced(n int) []int { return o.list.spaced(n) }

// At gives a function that makes the image at an index, for one goroutine. dst and src do not
// overlap.
func (o *Orbits) At() func(dst, src []uint8, i int) { return o.list.build() }

// Outward gives the indices in the order in which they are asked, each with its image: from the
// strength nearest to no corruption one step up, one down, two up, and so on; where one side ends,
// the other goes on. The image is nil where it equals the image of the neighbour on the inner side. It
// is good until the next one.
func (o *Orbits) Outward(image []uint8) iter.Seq2[int, []uint8] {
	return func(yield func(int, []uint8) bool) {
		at := o.At()
		last := [2][]uint8{make([]uint8, len(image)), make([]uint8, len(image))} // of the sides
		next := make([]uint8, len(image))
		up, down := o.list.unchanged, o.list.unchanged
		at(last[0], image, up)
		copy(last[1], last[0])
		if !yield(up, last[0]) {
			return
		}
		for turn := 0; up < o.Len()-1 || down > 0; turn = 1 - turn {
			i := 0
			switch {
			case turn == 0 && up < o.Len()-1:
				up++
				i = up
			case turn == 1 && down > 0:
				down--
				i = down
			default:
				continue
			}
			at(next, image, i)
			shown := next
			if bytes.Equal(next, last[turn]) {
				shown = nil
			}
			last[turn], next = next, last[turn]
			if !yield(i, shown) {
				return
			}
		}
	}
}
