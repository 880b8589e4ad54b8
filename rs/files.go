package rs

import (
	"context"
	"fmt"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/rs/ledger"
)

// files are the ledger of a run and what lies beside it: scores, times, and the comparisons of answers that see to it
// that the model stays the same from the first look to the claims. They are opened once. Without a path they keep
// nothing, and still compare.
type files struct {
	path    string
	model   string // its name
	witness *purity.Witness
	closed  *Run // the run of a ledger that has its claims; nil: none

	writer   *ledgerio.Writer                       // nil: no ledger, or one that is replaced whole
	scores   *scorefile.Writer                      // nil: none are kept
	restored map[scorefile.Address]scorefile.Record // of the provisional looks of an earlier run
	times    []beside.Time
	compared time.Time // when comparisons were written last
}

// comparePause is the time between two lines of the comparisons beside a ledger.
const comparePause = time.Minute

// open begins a ledger, or goes on with it, and returns what it holds; nil without a ledger.
func (f *files) open(header ledger.Header, scores bool) (l *ledger.Ledger, err error) {
	if f.path == "" {
		return nil, nil
	}
	if f.writer, l, err = ledgerio.Open(f.path, header); err != nil {
		return nil, err
	}
	if err := f.begin(len(l.Looks)+len(l.Provisional) > 0); err != nil {
		return nil, err
	}
	if scores {
		if f.scores, f.restored, err = scorefile.Open(f.path, l); err != nil {
			return nil, fmt.Errorf("rs: %w", err)
		}
	}
	return l, nil
}

// begin remembers the first answers beside a new ledger. Where a run goes on, it compares them with those of its
// beginning, and refuses a ledger some of whose answers were contradicted.
func (f *files) begin(resumed bool) error {
	f.compared = time.Now()
	if f.path == "" {
		return nil
	}
	var first *purity.Record
	if resumed {
		found, err := beside.ReadChecks(f.path)
		if err != nil {
			return err
		}
		if err := found.Err(f.model); err != nil {
			return fmt.Errorf("rs: ledger %s was contradicted before, so that its counts prove nothing; begin "+
				"another: %w", f.path, err)
		}
		if first, err = beside.ReadFirst(f.path); err != nil {
			return err
		}
	}
	switch {
	case f.witness == nil:
		return nil
	case first == nil:
		return beside.AppendFirst(f.path, f.witness.Record())
	}
	return f.take(f.witness.Since(*first, "when the run went on"))
}

// append takes looks of an image that are finished.
func (f *files) append(looks []scoredLook) {
	if f.writer == nil {
		return
	}
	for _, l := range looks {
		f.writer.Append(l.Look)
		if l.scores != nil {
			f.scores.Append(l.scores)
		}
	}
}

// sync makes the work so far safe from a kill or a power cut. Provisional looks belong to images under way;
// comparisons are written now and then, at last all.
func (f *files) sync(provisional []scoredLook, again *recheck, last bool) error {
	if f.writer == nil {
		return nil
	}
	var looks []ledger.Look
	var scores []*scorefile.Record
	for _, l := range provisional {
		looks = append(looks, l.Look)
		if l.scores != nil {
			scores = append(scores, l.scores)
		}
	}
	if f.scores != nil {
		if err := f.scores.SyncProvisional(scores); err != nil {
			return err
		}
	}
	if err := f.writer.SyncProvisional(looks); err != nil {
		return err
	}
	err := beside.AppendTimes(f.path, f.times)
	f.times = f.times[:0]
	if err != nil || !last && time.Since(f.compared) < comparePause {
		return err
	}
	f.compared = time.Now()
	return f.keep(again.unwritten())
}

// end asks again what the look asked.
func (f *files) end(ctx context.Context, m classifier.Classifier) error {
	if f.witness == nil {
		return nil
	}
	found, err := f.witness.Again(ctx, m, "at the end of the run")
	if err != nil {
		return err
	}
	return f.take(found)
}

// finish closes the ledger with its claims, and the scores.
func (f *files) finish(claims ledger.Claims) (digest string, err error) {
	if f.writer == nil {
		return "", nil
	}
	err = f.writer.Finish(claims)
	if err == nil && f.scores != nil {
		err = f.scores.Finish(f.writer.Digest())
	}
	return f.writer.Digest(), err
}

// take keeps comparisons, and is an error where they contradict.
func (f *files) take(found purity.Found) error {
	if err := f.keep(found); err != nil {
		return err
	}
	return found.Err(f.model)
}

// keep writes comparisons beside the ledger.
func (f *files) keep(found purity.Found) error {
	if f.path == "" || found.Comparisons == 0 {
		return nil
	}
	return beside.AppendChecks(f.path, found)
}

func (f *files) close() {
	if f.scores != nil {
		f.scores.Close()
	}
	if f.writer != nil {
		f.writer.Close()
	}
}
