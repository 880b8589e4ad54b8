// Package scorefile reads and writes the scores beside a ledger: for each look, how often the scores
// of its noise samples fell into cells, and their sums.
package scorefile

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/rs/ledger"
)

// Unit is the whole: a score is rounded to multiples of 1/Unit.
const Unit = 1 << 24

// Record is numbers that add up over blocks. They keep the scores that the noise samples in the blocks [From, To) of
// an image give its class. Thresholds j/cells, j = 0 … cells, cut the scores into cells: number 2j is the threshold
// itself, number 2j+1 what is between it and the next.
type Record struct {
	Image    int
	From, To int   // blocks
	Class    int32 // that the selection chose
	Unknown  int   // samples without a score, as misses are
	// Sums over the other samples, in units of 1/Unit: of every score rounded down, and rounded up.
	Low, High uint64
	Cells     []Cell // ascending, every N > 0
}

// Cell is a number of samples.
type Cell struct {
	Index int
	N     int
}

// Path is the file beside a ledger that keeps the scores.
func Path(ledger string) string { return ledger + ".scores" }

// Top takes the largest of K scores from [1/K, 1] to [0, 1]: (K·h − 1)/(K − 1), and 0 where h is below 1/K.
func Top(h float64, classes int) float64 {
	k := float64(classes)
	return max(0, (float64(k*h)-1)/(k-1))
}

// Index is the number of the cell of a score in [0, 1].
func Index(score float64, cells int) int {
	width := float64(cells)
	j := int(score * width)
	for j > 0 && score < float64(j)/width {
		j--
	}
	for j < cells && score >= float64(j+1)/width {
		j++
	}
	if score == float64(j)/width {
		return 2 * j
	}
	return 2*j + 1
}

// mostScores keeps sums of scores from overflowing.
const mostScores = 1 << 38

// check refuses numbers that no scores give.
func (s *Record) check(h *ledger.Header, cells int) error {
	if s.To <= s.From || s.From < 0 || int64(s.To-s.From) > mostScores/int64(h.Block) {
		return fmt.Errorf("blocks %d to %d of %d noise samples: want at least one block, and at most %d noise samples",
			s.From, s.To, h.Block, int64(mostScores))
	}
	if s.Class < 0 || int(s.Class) >= h.Model.Classes {
		return fmt.Errorf("class %d: want a class below %d", s.Class, h.Model.Classes)
	}
	samples, known := (s.To-s.From)*h.Block, 0
	// A sum of rounded scores is at least the sum of the lower ends of their cells, and at most the sum of the
	// upper ends.
	least, most := 0.0, 0.0
	index := -1
	for _, c := range s.Cells {
		if c.Index <= index || c.Index > 2*cells || c.N < 1 || c.N > samples-known {
			return fmt.Errorf("cell %d with %d noise samples: want ascending cells up to %d, and %d noise samples "+
				"in all", c.Index, c.N, 2*cells, samples)
		}
		index = c.Index
		known += c.N
		least += float64(c.N) * float64(c.Index/2)
		most += float64(c.N) * float64((c.Index+1)/2)
	}
	if s.Unknown < 0 || known+s.Unknown != samples {
		return fmt.Errorf("%d noise samples in cells and %d unknown, the blocks %d to %d have %d noise samples", known,
			s.Unknown, s.From, s.To, samples)
	}
	if s.Low > s.High || s.High-s.Low > uint64(known) || s.High > uint64(known)*Unit {
		return fmt.Errorf("sums %d and %d of %d scores: want them in order, at most one apart for every score, in "+
			"units of 1/%d", s.Low, s.High, known, Unit)
	}
	slack := float64(known) + 1 // each score is rounded by less than a unit
	if unit := Unit / float64(cells); float64(s.Low) < math.Floor(least*unit)-slack ||
		float64(s.High) > math.Ceil(most*unit)+slack {
		return fmt.Errorf("sums %d and %d, but the cells hold scores that sum to between %.0f and %.0f", s.Low, s.High,
			least*unit, most*unit)
	}
	return nil
}
