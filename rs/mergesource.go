package rs

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// source is a ledger that is merged, read image by image.
type source struct {
	file   string
	scan   *ledgerio.Scanner
	header ledger.Header
	images int             // that were given out
	record ledgerio.Record // the one behind them
	err    error           // in its place: io.EOF, or what is wrong with the file
	looks  []scoredLook
	scores *scorefile.Reader
	rows   []int // of the merged run that it has a part in
}

func newSource(file string) (*source, error) {
	scan, err := ledgerio.Scan(file)
	if err != nil {
		return nil, err
	}
	s := &source{file: file, scan: scan, header: scan.Header()}
	if s.scores, err = scorefile.OpenReader(file, s.header); err != nil {
		scan.Close()
		return nil, err
	}
	s.record, s.err = scan.Next()
	return s, nil
}

// positions of its images in the data: first, first+count, …
func (s *source) positions() (first, count int) {
	if shard := s.header.Shard; shard != nil && shard.By == ledger.ShardImages {
		return shard.Index, shard.Count
	}
	return 0, 1
}

// share is the number of images that it has when it is finished.
func (s *source) share() int { return shareOf(s.header.Shard, s.header.Data.Images) }

// next gives the looks of the next image, none at the end. They are valid until the following call.
func (s *source) next() ([]scoredLook, error) {
	s.looks = s.looks[:0]
	if s.images == s.share() {
		return nil, nil
	}
	for s.err == nil && s.record.Kind == ledgerio.LookLine &&
		(len(s.looks) == 0 || s.record.Look.Image == s.looks[0].Image) {
		scores, err := s.scores.Of(s.record.Look)
		if err != nil {
			return nil, err
		}
		s.looks = append(s.looks, scoredLook{s.record.Look, scores})
		s.record, s.err = s.scan.Next()
	}
	if s.err != nil && s.err != io.EOF {
		return nil, s.err
	}
	if len(s.looks) > 0 {
		s.images++
	}
	return s.looks, nil
}

// ended reports whether there is no further image.
func (s *source) ended() bool {
	return s.err != nil || s.record.Kind != ledgerio.LookLine || s.images == s.share()
}

func (s *source) shardText() string {
	if s.header.Shard == nil {
		return ""
	}
	return fmt.Sprintf(", shard %d of %d by %s,", s.header.Shard.Index, s.header.Shard.Count, s.header.Shard.By)
}

// part is a look of a source.
type part struct {
	scoredLook
	source *source
}

// join gives parts of one image to its trial, look by look: a look may come in parts that meet, as shards by blocks
// have them. It returns the looks of the trial, and the beginning of the one after which a part is missing.
func (m *merger) join(t *stopping.Trial, parts []part) (looks []scoredLook, rest *scoredLook, err error) {
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To))
	})
	if parts, err = m.distinct(parts); err != nil {
		return nil, nil, err
	}
	for !t.Done() {
		from, to := t.Blocks()
		at := from
		var sum tally
		var scores scoreTally
		for len(parts) > 0 && parts[0].From == at && parts[0].To <= to {
			sum.add(parts[0].Counts, parts[0].Misses)
			if err := ofClass(parts[0].scores, t); err != nil {
				return nil, nil, fmt.Errorf("ledger %s: %w", parts[0].source.file, err)
			}
			if parts[0].scores != nil {
				scores.add(parts[0].scores, m.cells)
			}
			at = parts[0].To
			parts = parts[1:]
		}
		look := scoredLook{Look: ledger.Look{Image: t.Image, Label: t.Label, From: from, To: at}}
		look.Counts, look.Misses = sum.sum()
		if m.cells > 0 && at > from && t.Selected() {
			look.scores = scores.sum()
			look.scores.Image, look.scores.From, look.scores.To, look.scores.Class = t.Image, from, at, int32(t.Class)
		}
		if !t.EndsAt(at) {
			if at > from {
				rest = &look
			}
			break
		}
		if err := t.Add(look.Look); err != nil {
			return nil, nil, err
		}
		looks = append(looks, look)
	}
	for _, p := range parts {
		if t.Done() {
			return nil, nil, fmt.Errorf("ledger %s: image %d has blocks %d to %d, but was decided before them",
				p.source.file, p.Image, p.From, p.To)
		}
		if from, to := t.Blocks(); p.From < to && p.To > to {
			return nil, nil, fmt.Errorf("ledger %s: image %d has a look at blocks %d to %d, the rule looks at %d to %d",
				p.source.file, p.Image, p.From, p.To, from, to)
		}
		m.result.Dropped += p.To - p.From
	}
	return looks, rest, nil
}

// distinct drops parts that come again with equal counts. They are ascending by their first block.
func (m *merger) distinct(parts []part) ([]part, error) {
	kept := parts[:1]
	for _, p := range parts[1:] {
		before := kept[len(kept)-1]
		switch {
		case p.From >= before.To:
			kept = append(kept, p)
		case p.From != before.From || p.To != before.To:
			return nil, fmt.Errorf("image %d: the blocks %d to %d of ledger %s and %d to %d of ledger %s overlap "+
				"and are not the same: merge shards of one split",
				p.Image, before.From, before.To, before.source.file, p.From, p.To, p.source.file)
		case p.Misses != before.Misses || !slices.Equal(p.Counts, before.Counts):
			return nil, &ConflictError{Image: p.Image, From: p.From, To: p.To,
				Files: [2]string{before.source.file, p.source.file}, Looks: [2]ledger.Look{before.Look, p.Look}}
		case !p.scores.Equal(before.scores):
			return nil, fmt.Errorf("image %d, blocks %d to %d: the scores beside ledger %s are not those beside "+
				"ledger %s; one of them is not of this model and seed, or was altered",
				p.Image, p.From, p.To, before.source.file, p.source.file)
		default:
			m.result.Repeated++
		}
	}
	return kept, nil
}
