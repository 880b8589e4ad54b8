package confidences

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// scoredRun holds the scores beside a ledger for the images that it certifies and that have a
// label; of top scores, of all images.
type scoredRun struct {
	header     *ledger.Header
	top        bool
	thresholds []float64
	labelled   int
	images     []scoredImage
}

// scoredImage are the scores of an image up to its last look.
type scoredImage struct {
	id        int
	radius    float64
	correct   bool
	n         int // samples
	level     float64
	unknown   int
	low, high uint64
	cells     []scoredCell
}

// scoredCell is a scorefile.Cell of less memory.
type scoredCell struct {
	index uint16
	n     uint32
}

// readScores reads a closed ledger and the scores beside it, those of the certified classes or the
// largest. divide gives the shares of α of the radius and of the scores of one of so many images.
func readScores(ctx context.Context, path string, top bool, divide func(alpha float64, images int) (radius,
	scores float64, err error)) (*scoredRun, error) {
	l, err := ledgerio.Read(path)
	if err != nil {
		return nil, err
	}
	if kept := l.Header.Scores != ""; !kept || top != l.Header.TopScores() {
		have, want := "the run kept no scores", "certspec certify --keep-scores"
		switch {
		case kept && top:
			have = "its scores are those of the certified class"
		case kept:
			have = "its scores are the largest of each noise sample"
		}
		if top {
			want += "=top"
		}
		return nil, fmt.Errorf("confidences: ledger %s: %s: certify again by %s, in another ledger", path, have, want)
	}
	cells, err := l.Header.ScoreCells()
	if err != nil {
		return nil, fmt.Errorf("confidences: ledger %s: %w", path, err)
	}
	if l.Claims == nil {
		return nil, fmt.Errorf("confidences: ledger %s is not closed: the same certify goes on with it", path)
	}
	radius, scores, err := divide(l.Header.Alpha, l.Header.Data.Images)
	if err != nil {
		return nil, fmt.Errorf("confidences: ledger %s: %w", path, err)
	}
	run, err := rs.OpenAt(path, radius)
	if err != nil {
		return nil, err
	}
	plan, err := stopping.Of(l.Header)
	if err != nil {
		return nil, fmt.Errorf("confidences: ledger %s: %w", path, err)
	}
	source, err := scorefile.OpenReader(path, l.Header)
	if err != nil {
		return nil, fmt.Errorf("confidences: %w", err)
	}
	defer source.Close()
	s := &scoredRun{header: &run.Header, top: top}
	for j := range cells + 1 {
		s.thresholds = append(s.thresholds, float64(j)/float64(cells))
	}
	i := 0
	for looks := range l.Images() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.read(&run.Rows[i], looks, source, plan, scores, cells); err != nil {
			return nil, fmt.Errorf("confidences: %w", err)
		}
		i++
	}
	if err := source.Finish(l.Digest); err != nil {
		return nil, fmt.Errorf("confidences: %w", err)
	}
	if !top && s.labelled == 0 {
		return nil, fmt.Errorf("confidences: ledger %s: no image has a label, so that none is known to be right", path)
	}
	return s, nil
}

// read takes the scores of one image, at the level alpha.
func (s *scoredRun) read(row *rs.Row, looks []ledger.Look, source *scorefile.Reader, plan *stopping.Plan, alpha float64,
	cells int) error {
	image := scoredImage{id: row.Image, radius: row.Radius, correct: row.Correct()}
	sum := tally{counts: make([]int, 2*cells+1)}
	taken := 0
	for _, look := range looks {
		scores, err := source.Of(look)
		if err != nil {
			return err
		}
		if scores == nil {
			continue
		}
		if row.Certified() && int(scores.Class) != row.Class {
			return fmt.Errorf("scores %s: those of image %d are of class %d, but class %d is certified", source.File(),
				row.Image, scores.Class, row.Class)
		}
		taken++
		image.n += (look.To - look.From) * s.header.Block
		sum.add(scores)
	}
	if s.top {
		image.radius = math.Inf(1) // the bounds need no certified class
	} else {
		if row.Label < 0 {
			return nil
		}
		s.labelled++
		if !row.Certified() {
			return nil
		}
	}
	if taken == 0 {
		if s.top {
			s.images = append(s.images, image)
		}
		return nil
	}
	var err error
	if image.level, err = plan.ScoreAlpha(taken-1, alpha); err != nil {
		return err
	}
	image.unknown, image.low, image.high = sum.unknown, sum.low, sum.high
	for index, n := range sum.counts {
		if n > 0 {
			image.cells = append(image.cells, scoredCell{uint16(index), uint32(n)})
		}
	}
	s.images = append(s.images, image)
	return nil
}

// tally sums scores of one image.
type tally struct {
	counts    []int // by cell
	unknown   int
	low, high uint64
}

func (t *tally) add(s *scorefile.Record) {
	for _, c := range s.Cells {
		t.counts[c.Index] += c.N
	}
	t.unknown += s.Unknown
	t.low += s.Low
	t.high += s.High
}

// bySize groups images, by their index, of equal numbers of samples, which share a table.
func (s *scoredRun) bySize() [][]int {
	order := make([]int, len(s.images))
	for i := range order {
		order[i] = i
	}
	size := func(i, j int) int {
		a, b := &s.images[i], &s.images[j]
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.level, b.level))
	}
	slices.SortStableFunc(order, size)
	var groups [][]int
	for len(order) > 0 {
		n := 1
		for n < len(order) && size(order[0], order[n]) == 0 {
			n++
		}
		groups, order = append(groups, order[:n]), order[n:]
	}
	return groups
}

// meanBounds are bounds on the mean of the scores.
func (image *scoredImage) meanBounds() (low, high float64) {
	whole := float64(image.n) * scorefile.Unit // below 2⁵⁵, of which a float64 holds all but the last digits
	low = float64(image.low) / whole * (1 - 0x1p-50)
	high = float64(image.high+uint64(image.unknown)*scorefile.Unit) / whole * (1 + 0x1p-50)
	return low, min(1, high)
}

// mean estimates the mean of the scores; those that are not known count as ½.
func (image *scoredImage) mean() float64 {
	low, high := image.meanBounds()
	return (low + high) / 2
}

// distribution gives the counts at the thresholds.
func (image *scoredImage) distribution(thresholds []float64) *confidence.Distribution {
	last := len(thresholds) - 1
	d := &confidence.Distribution{N: image.n, Thresholds: thresholds, AtLeast: make([]int, last+1),
		Above: make([]int, last+1)}
	known := 0
	next := len(image.cells) - 1
	for j := last; j >= 0; j-- {
		for next >= 0 && int(image.cells[next].index) > 2*j {
			known += int(image.cells[next].n)
			next--
		}
		d.Above[j] = known + image.unknown
		if next >= 0 && int(image.cells[next].index) == 2*j {
			known += int(image.cells[next].n)
			next--
		}
		d.AtLeast[j] = known
	}
	d.AtLeast[0] = image.n
	return d
}
