package rs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// Merged is the result of Merge.
type Merged struct {
	Ledgers  int  `json:"ledgers"`
	Images   int  `json:"images"` // decided
	Of       int  `json:"of"`     // images of the data
	Complete bool `json:"complete"`
	Repeated int  `json:"repeated"` // looks that further ledgers had, with equal counts
	Dropped  int  `json:"dropped"`  // blocks of images whose earlier blocks no ledger has
}

func (m Merged) String() string {
	text := fmt.Sprintf("%d ledgers, %d of %d images", m.Ledgers, m.Images, m.Of)
	if m.Repeated > 0 {
		text += fmt.Sprintf(", %d looks in more than one of them, all equal", m.Repeated)
	}
	if m.Dropped > 0 {
		text += fmt.Sprintf(", %d blocks dropped whose predecessors are missing", m.Dropped)
	}
	return text
}

// ConflictError says that two ledgers have different counts for the same blocks.
type ConflictError struct {
	Image    int
	From, To int // blocks
	Files    [2]string
	Looks    [2]ledger.Look
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("image %d, blocks %d to %d: ledger %s has %v, ledger %s has %v; one of them is not of this "+
		"model and seed, or was altered",
		e.Image, e.From, e.To, e.Files[0], countsText(e.Looks[0]), e.Files[1], countsText(e.Looks[1]))
}

// countsText shows the counts of a look as a ledger does.
func countsText(l ledger.Look) string {
	var b strings.Builder
	for _, c := range l.Counts {
		fmt.Fprintf(&b, "%d:%d ", c.Class, c.N)
	}
	fmt.Fprintf(&b, "and %d misses", l.Misses)
	return b.String()
}

// Merge joins ledgers of one run, its shards by images or by blocks, into the ledger of the whole: the bytes that one
// process had written. It is a union by the address of the counts, the image and its blocks. What several ledgers have
// must be equal, else a *ConflictError. Ledgers of another run are a *ledger.MismatchError. All claims are derived
// again from the counts, and compared with those of the shards.
//
// Missing or unfinished shards are an error, unless partial is set: then the output is an unfinished ledger with what
// there is, from which Certify goes on. Provisional lines of the inputs do not count.
//
// The ledgers are read side by side, however many there are. Memory is needed for one row per image, and at most 32 KB
// and some counts per ledger. The output gets its name when it is whole. Times beside the ledgers are joined, too.
func Merge(ctx context.Context, out string, files []string, partial bool) (Merged, error) {
	m := merger{ctx: ctx, partial: partial, images: map[int]int{}}
	defer m.close()
	for _, file := range files {
		if err := m.open(file); err != nil {
			return Merged{}, fmt.Errorf("rs: %w", err)
		}
	}
	if len(files) == 0 {
		return Merged{}, errors.New("rs: no ledgers to merge")
	}
	err := m.missing()
	if err == nil {
		err = m.create(out)
	}
	if err != nil {
		return Merged{}, fmt.Errorf("rs: %w", err)
	}
	return m.result, m.joinTimes(out)
}

// merger is a merge in progress.
type merger struct {
	ctx     context.Context
	partial bool
	header  ledger.Header // of the whole run
	cells   int           // that scores are counted in; 0: there are none
	plan    *stopping.Plan
	sources []*source
	strides []stride
	images  map[int]int // positions in the data
	rows    Rows        // that are decided
	result  Merged
}

// stride are the sources that have every count-th image, by the first of them.
type stride struct {
	count int
	at    map[int][]*source
}

func (m *merger) close() {
	for _, s := range m.sources {
		s.scan.Close()
		s.scores.Close()
	}
}

// notOneRun is a mismatch of two ledgers.
type notOneRun struct {
	*ledger.MismatchError
	second string
}

func (e *notOneRun) Error() string {
	return fmt.Sprintf("ledgers %s and %s are not of one run: %s is %s in the first, %s in the second", e.File,
		e.second, e.Field, e.Ledger, e.Run)
}

func (e *notOneRun) Unwrap() error { return e.MismatchError }

func (m *merger) open(file string) error {
	s, err := newSource(file)
	if err != nil {
		return err
	}
	m.sources = append(m.sources, s)
	whole := s.header
	whole.Shard = nil
	if len(m.sources) == 1 {
		m.header = whole
		if m.plan, err = stopping.Of(whole); err != nil {
			return fmt.Errorf("ledger %s: %w", file, err)
		}
	} else if err := m.header.SameRun(m.sources[0].file, whole); err != nil {
		var mismatch *ledger.MismatchError
		if errors.As(err, &mismatch) {
			return &notOneRun{mismatch, file}
		}
		return err
	}
	first, count := s.positions()
	i := slices.IndexFunc(m.strides, func(s stride) bool { return s.count == count })
	if i < 0 {
		i = len(m.strides)
		m.strides = append(m.strides, stride{count, map[int][]*source{}})
	}
	m.strides[i].at[first] = append(m.strides[i].at[first], s)
	return nil
}

// create writes the merged ledger, and the scores beside it.
func (m *merger) create(out string) error {
	if m.header.Scores == "" {
		return ledgerio.Create(out, m.header, func(e *ledgerio.Encoder) error { return m.write(e, nil) })
	}
	var err error
	if m.cells, err = m.header.ScoreCells(); err != nil {
		return err
	}
	return scorefile.Create(out, m.header, func(w *scorefile.Writer) error {
		return ledgerio.Create(out, m.header, func(e *ledgerio.Encoder) error { return m.write(e, w) })
	})
}

// missing names the shards that are not there, where all are of one split.
func (m *merger) missing() error {
	split := m.sources[0].header.Shard
	if m.partial || split == nil {
		return nil
	}
	have := map[int]bool{}
	for _, s := range m.sources {
		if s.header.Shard == nil || s.header.Shard.By != split.By || s.header.Shard.Count != split.Count {
			return nil // found while merging
		}
		have[s.header.Shard.Index] = true
	}
	needed := split.Count
	if split.By == ledger.ShardImages {
		needed = min(needed, m.header.Data.Images) // those beyond have no image
	}
	lacking := needed
	for i := range have {
		if i < needed {
			lacking--
		}
	}
	if lacking == 0 {
		return nil
	}
	var names []string
	const most = 20
	for i := 0; i < needed && len(names) < min(most, lacking); i++ {
		if !have[i] {
			names = append(names, fmt.Sprint(i))
		}
	}
	if lacking > most {
		names = append(names, "…")
	}
	return fmt.Errorf("%d of %d shards by %s are missing, counted from 0: %s", lacking, split.Count, split.By,
		strings.Join(names, ", "))
}

// write merges image by image.
func (m *merger) write(e *ledgerio.Encoder, w *scorefile.Writer) error {
	m.result.Ledgers, m.result.Of = len(m.sources), m.header.Data.Images
	var provisional []*scorefile.Record
	put := func(l scoredLook) {
		e.Look(l.Look)
		if l.scores != nil {
			w.Append(l.scores)
		}
	}
	gap := 0 // images behind each other that no source has
	for p := 0; p < m.header.Data.Images; p++ {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		t, looks, rest, err := m.image(p)
		if err != nil {
			return err
		}
		for _, l := range looks {
			put(l)
		}
		if t == nil || !t.Done() {
			// From here on, lines are not those that a run would have committed next.
			put = func(l scoredLook) {
				e.Provisional(l.Look)
				if l.scores != nil {
					provisional = append(provisional, l.scores)
				}
			}
		}
		if rest != nil {
			put(*rest)
		}
		if gap++; t != nil {
			gap = 0
		}
		if gap > len(m.sources) { // to ask each source costs as much as the gap so far
			p, gap = m.following()-1, 0
		}
		if w != nil && p%scoresAtOnce == 0 {
			if err := w.SyncProvisional(nil); err != nil {
				return err
			}
		}
	}
	for _, s := range m.sources {
		if err := m.check(s); err != nil {
			return err
		}
	}
	if m.result.Images = len(m.rows); m.result.Images < m.result.Of {
		if w != nil {
			if err := w.SyncProvisional(provisional); err != nil {
				return err
			}
		}
		return e.Flush()
	}
	m.result.Complete = true
	if err := e.Finish((&Run{Header: m.header, Rows: m.rows}).claims()); err != nil || w == nil {
		return err
	}
	return w.Finish(e.Digest())
}

// scoresAtOnce is the number of images whose scores a merge holds before it writes them.
const scoresAtOnce = 4096

// following is the next position of which a source has the image, or that behind the last one.
func (m *merger) following() int {
	p := m.header.Data.Images
	for _, s := range m.sources {
		if first, count := s.positions(); !s.ended() {
			p = min(p, first+s.images*count)
		}
	}
	return p
}

// image joins what the sources have of the image at a position: looks that are whole, and the beginning of a
// further one. The trial is nil where no source has the image.
func (m *merger) image(p int) (t *stopping.Trial, looks []scoredLook, rest *scoredLook, err error) {
	var parts []part
	var ended, asked []*source
	for _, s := range m.strides {
		for _, source := range s.at[p%s.count] {
			asked = append(asked, source)
			found, err := source.next()
			if err != nil {
				return nil, nil, nil, err
			}
			if len(found) == 0 {
				ended = append(ended, source)
			}
			for _, l := range found {
				parts = append(parts, part{l, source})
			}
		}
	}
	if len(parts) > 0 {
		first := parts[0]
		for _, q := range parts[1:] {
			if q.Image != first.Image || q.Label != first.Label {
				return nil, nil, nil, fmt.Errorf("image number %d, from 0, is %d with label %d in ledger %s, and %d "+
					"with label %d in ledger %s",
					p, first.Image, first.Label, first.source.file, q.Image, q.Label, q.source.file)
			}
		}
		if at, again := m.images[first.Image]; again {
			return nil, nil, nil, fmt.Errorf("ledger %s: image %d comes as number %d and as number %d of the data",
				first.source.file, first.Image, at, p)
		}
		m.images[first.Image] = p
		t = m.plan.Trial(first.Image, first.Label)
		if looks, rest, err = m.join(t, parts); err != nil {
			return nil, nil, nil, err
		}
	}
	if !m.partial && (t == nil || !t.Done()) {
		return nil, nil, nil, m.incomplete(p, t, rest, ended)
	}
	if t != nil && t.Done() {
		for _, s := range asked {
			s.rows = append(s.rows, len(m.rows))
		}
		m.rows = append(m.rows, rowOf(t))
	}
	return t, looks, rest, nil
}

// incomplete is the error of an image that is not decided.
func (m *merger) incomplete(p int, t *stopping.Trial, rest *scoredLook, ended []*source) error {
	what := fmt.Sprintf("image number %d of the data, from 0,", p)
	if t != nil {
		from, _ := t.Blocks()
		if rest != nil {
			from = rest.To
		}
		what = fmt.Sprintf("image %d from block %d on", t.Image, from)
	}
	for _, s := range ended {
		return fmt.Errorf("ledger %s%s is not finished: it has %d of %d images, and no other ledger has %s", s.file,
			s.shardText(), s.images, s.share(), what)
	}
	return fmt.Errorf("no ledger has %s", what)
}

// check reads a source to its end and compares its claims with the counts.
func (m *merger) check(s *source) error {
	switch {
	case s.err != nil || s.record.Kind == ledgerio.ProvisionalLine:
		return nil // not finished
	case s.record.Kind == ledgerio.LookLine:
		return fmt.Errorf("ledger %s: line %d: more images than the %d that its header announces", s.file,
			s.record.Line, s.share())
	}
	a := audit{scan: s.scan, header: s.header, plan: m.plan, line: s.record.Line, images: s.images}
	if !byBlocks(s.header) {
		for _, i := range s.rows {
			a.rows = append(a.rows, m.rows[i])
		}
	}
	digest, err := a.finish(s.record, s.err)
	if err == nil {
		err = s.scores.Finish(digest)
	}
	var unfinished *UnfinishedError
	if m.partial && errors.As(err, &unfinished) {
		return nil // cut off in its claims
	}
	return err
}

// joinTimes sums the times beside the ledgers by image. Those of a shard that came twice count once.
func (m *merger) joinTimes(out string) error {
	if _, err := beside.ReadTimes(out); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sums := map[int]beside.Time{}
	var order []int
	seen := map[ledger.Shard]bool{}
	for _, s := range m.sources {
		shard := ledger.Shard{Count: 1}
		if s.header.Shard != nil {
			shard = *s.header.Shard
		}
		if seen[shard] {
			continue
		}
		times, err := beside.ReadTimes(s.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		seen[shard] = true
		for _, t := range times {
			sum, ok := sums[t.Image]
			if !ok {
				order = append(order, t.Image)
			}
			sums[t.Image] = beside.Time{Image: t.Image, Samples: sum.Samples + t.Samples, Seconds: sum.Seconds +
				t.Seconds}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return m.images[a] - m.images[b] })
	times := make([]beside.Time, len(order))
	for i, image := range order {
		times[i] = sums[image]
	}
	return beside.AppendTimes(out, times)
}
