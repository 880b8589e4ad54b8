package scorefile

import (
	"fmt"
	"io"
	"os"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerfile"
	"github.com/certspec/certspec/rs/ledger"
)

// Writer appends to the scores beside a ledger whose Writer the caller holds. It is not safe for
// concurrent use.
//
// What a look proves needs its scores: they are synced before the look is. After a power cut the file may so
// have records of looks that the ledger lost, which are cut off when the work goes on.
type Writer struct {
	w      *journal.Writer
	closed bool
}

// Open opens the scores beside a ledger for writing, as Open left it. It begins a new file, or goes on behind the
// records of the ledger's looks; behind selection blocks. Provisional looks whose scores are not there leave the
// ledger, with those of the same image that follow them: their work is done again. The second result has the scores of
// the others.
//
// Errors: a file without the scores of a look that the ledger has; those of scanScores.
func Open(path string, l *ledger.Ledger) (*Writer, map[Address]Record, error) {
	file := Path(path)
	j, err := journal.Open(file)
	if err != nil {
		return nil, nil, fmt.Errorf("scores %w", err)
	}
	w := &Writer{w: j}
	provisional, err := w.resume(file, l)
	if err != nil {
		j.Close()
		return nil, nil, err
	}
	return w, provisional, nil
}

// Address names all that the scores of a look depend on, besides the run.
type Address struct{ Image, From, To int }

// Address returns the address of the scores.
func (s *Record) Address() Address { return Address{s.Image, s.From, s.To} }

// AddressOf returns the address of the scores of a look.
func AddressOf(l ledger.Look) Address { return Address{l.Image, l.From, l.To} }

// resume finds the end of the records that stay.
func (w *Writer) resume(file string, l *ledger.Ledger) (map[Address]Record, error) {
	in, err := w.w.Reader()
	if err != nil {
		return nil, fmt.Errorf("scores %w", err)
	}
	s, err := newScoresScanner(file, in, l.Header)
	found := map[Address]Record{}
	if err == io.EOF {
		begun := false
		for _, look := range l.Looks {
			begun = begun || l.Header.Scored(look)
		}
		if begun {
			return nil, s.errorf("the ledger has looks whose scores are missing; begin again in another ledger, or " +
				"put the file back")
		}
		line, err := scoresHeaderOf(l.Header)
		if err != nil {
			return nil, err
		}
		if err := w.keep(0); err != nil {
			return nil, err
		}
		w.w.Append(line)
		dropUnscored(l, found)
		return found, w.SyncProvisional(nil)
	}
	if err != nil {
		return nil, err
	}
	for _, look := range l.Looks {
		if !l.Header.Scored(look) {
			continue
		}
		scores, provisional, err := s.Next()
		if err == io.EOF || err == nil && (provisional || scores.Address() != AddressOf(look)) {
			return nil, s.errorf("want the scores of image %d, blocks %d to %d, which the ledger has; begin again "+
				"in another ledger, or put the file back", look.Image, look.From, look.To)
		}
		if err != nil {
			return nil, err
		}
	}
	end := s.at
	for {
		scores, _, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		found[scores.Address()] = scores
	}
	if s.digest != "" && s.digest == l.Digest {
		w.closed = true
		return found, w.keep(s.at)
	}
	dropUnscored(l, found)
	return found, w.keep(end)
}

func (w *Writer) keep(n int64) error {
	if err := w.w.Keep(n); err != nil {
		return fmt.Errorf("scores %w", err)
	}
	return nil
}

// dropUnscored takes the provisional looks from a ledger that have no scores, and those behind them.
func dropUnscored(l *ledger.Ledger, found map[Address]Record) {
	lost := map[int]bool{}
	kept := l.Provisional[:0]
	for _, look := range l.Provisional {
		if _, ok := found[AddressOf(look)]; !ok && l.Header.Scored(look) {
			lost[look.Image] = true
		}
		if !lost[look.Image] {
			kept = append(kept, look)
		}
	}
	l.Provisional = kept
}

// Append commits the scores of a look. They are in the file after the next sync.
func (w *Writer) Append(s *Record) { w.w.Append(appendScores(nil, scoresLook, s)) }

// SyncProvisional writes all committed scores, behind them those of provisional looks, and waits until they are
// safe from a power cut.
func (w *Writer) SyncProvisional(provisional []*Record) error {
	var tail []byte
	for _, s := range provisional {
		tail = appendScores(tail, scoresProvisional, s)
	}
	if err := w.w.SyncTail(tail); err != nil {
		return fmt.Errorf("scores %w", err)
	}
	return nil
}

// Finish closes the scores of a ledger that was closed with a digest. Record that are closed stay as they are.
func (w *Writer) Finish(ledgerDigest string) error {
	if w.closed {
		return nil
	}
	w.w.Append(appendScoresEnd(nil, ledgerDigest, w.w.Sum()))
	return w.SyncProvisional(nil)
}

// Close releases the file. It does not sync.
func (w *Writer) Close() error { return w.w.Close() }

// Create makes the scores beside a ledger in one step, as Create makes that. write gives it the records, and ends
// with Finish or SyncProvisional.
func Create(path string, header ledger.Header, write func(*Writer) error) error {
	file := Path(path)
	line, err := scoresHeaderOf(header)
	if err != nil {
		return err
	}
	return ledgerfile.Create(file, func(f *os.File) error {
		w := &Writer{w: journal.On(f, file)}
		w.w.Append(line)
		return write(w)
	})
}
