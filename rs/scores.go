package rs

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// CheckScores refuses scores that could not be kept or would prove nothing, as *rule.OptionError. Certify calls it.
func (o Options) CheckScores() error {
	switch {
	case o.TopScores && o.Scores == 0:
		return optionErrorf("TopScores is set, but Scores is 0 cells, want 1 to %d", ledger.MaxScoreCells)
	case o.Scores == 0:
		return nil
	case o.Scores < 0 || o.Scores > ledger.MaxScoreCells:
		return optionErrorf("Scores is %d cells, want 1 to %d", o.Scores, ledger.MaxScoreCells)
	case o.Ledger == "":
		return optionErrorf("Scores is set, but they are kept beside a ledger, and there is none")
	case o.Shard.By == ledger.ShardBlocks:
		return optionErrorf("Scores is set, but a shard by blocks does not know the class whose scores to keep: " +
			"split the run by images")
	}
	p, err := o.plan()
	if err == nil {
		_, err = p.ScoreAlpha(0, p.Alpha())
	}
	return err
}

// markUnknown makes the scores of misses NaN, and refuses those that are none.
func (b *blocks) markUnknown(buf *buffer) error {
	if !b.scored {
		return nil
	}
	for i, class := range buf.classes {
		row := buf.scores[i*b.classes : (i+1)*b.classes]
		for c, score := range row {
			switch {
			case class == classifier.Miss:
				row[c] = float32(math.NaN())
			case !(score >= 0 && score <= 1): // the class is no miss
				return fmt.Errorf("the model gives class %d a score of %v, want a number in [0, 1]", c, score)
			}
		}
	}
	return nil
}

// takeScores samples the scores of a class out of a buffer, or those of all where it is negative;
// of top scores, the largest ones.
func (b *blocks) takeScores(buf *buffer, class int32) blockScores {
	if !b.scored {
		return blockScores{}
	}
	if class < 0 && !b.top {
		return blockScores{slices.Clone(buf.scores), b.classes, 0}
	}
	scores := make([]float32, b.samples)
	for i := range scores {
		if row := buf.scores[i*b.classes : (i+1)*b.classes]; b.top {
			scores[i] = slices.Max(row) // NaN where one is
		} else {
			scores[i] = row[class]
		}
	}
	if b.top {
		return blockScores{scores, 1, b.classes}
	}
	return blockScores{scores, 1, 0}
}

// blockScores are the scores of a block, by noise sample: of one class or, where classes is not 1,
// of all. NaN is unknown.
type blockScores struct {
	values  []float32
	classes int
	topOf   int // the values are the largest of so many scores, and are rescaled; 0: they are not
}

// scoreTally sums the scores of blocks of one image.
type scoreTally struct {
	counts    []int // by cell; nil: no scores yet
	unknown   int
	low, high uint64
}

// addBlock adds the scores of a block.
func (t *scoreTally) addBlock(b blockScores, class, cells int) {
	t.grow(cells)
	i := 0
	if b.classes > 1 {
		i = class
	}
	for ; i < len(b.values); i += b.classes {
		h := float64(b.values[i])
		if math.IsNaN(h) {
			t.unknown++
			continue
		}
		if b.topOf > 0 {
			h = scorefile.Top(h, b.topOf)
		}
		t.counts[scorefile.Index(h, cells)]++
		t.low += uint64(math.Floor(h * scorefile.Unit))
		t.high += uint64(math.Ceil(h * scorefile.Unit))
	}
}

func (t *scoreTally) grow(cells int) {
	if t.counts == nil {
		t.counts = make([]int, 2*cells+1)
	}
}

// add adds scores that were summed before.
func (t *scoreTally) add(s *scorefile.Record, cells int) {
	t.grow(cells)
	for _, c := range s.Cells {
		t.counts[c.Index] += c.N
	}
	t.unknown += s.Unknown
	t.low += s.Low
	t.high += s.High
}

// sum gives the sums, without an address.
func (t *scoreTally) sum() *scorefile.Record {
	s := &scorefile.Record{Unknown: t.unknown, Low: t.low, High: t.high}
	for i, n := range t.counts {
		if n > 0 {
			s.Cells = append(s.Cells, scorefile.Cell{Index: i, N: n})
		}
	}
	return s
}

// finishScores closes the scores of a closed ledger, which an interruption may have left open.
func finishScores(path string) error {
	l, err := ledgerio.Read(path)
	if err != nil {
		return err
	}
	w, _, err := scorefile.Open(path, l)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Finish(l.Digest)
}

// ofClass refuses scores of another class than the trial of their image chose, which has not yet taken their look.
func ofClass(scores *scorefile.Record, t *stopping.Trial) error {
	if scores != nil && int(scores.Class) != t.Class {
		return fmt.Errorf("the scores of image %d, blocks %d to %d, are of class %d, but the selection chose class %d",
			scores.Image, scores.From, scores.To, scores.Class, t.Class)
	}
	return nil
}
