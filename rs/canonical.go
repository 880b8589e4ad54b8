package rs

import (
	"context"
	"errors"
	"io"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
)

// Canonical writes the canonical form of a ledger to another file: the part of an interrupted run that stays.
// Provisional lines and a torn tail are dropped. Looks are in the order of the file, as the data. Scores
// beside the ledger are treated alike. Where all images are decided, the claims and the digest follow from them.
//
// It is a function of the ledger, and gives its own output the same bytes: a closed ledger is its own canonical form.
// One whose claims do not follow from its counts is a *ledger.FormatError. The output must not exist, unless with the
// same bytes.
func Canonical(ctx context.Context, out, path string) (complete bool, err error) {
	a, err := newAudit(ctx, path)
	if err != nil {
		return false, err
	}
	defer a.scan.Close()
	if a.header.Scores == "" {
		return canonical(out, a, nil)
	}
	if a.scores, err = scorefile.OpenReader(path, a.header); err != nil {
		return false, err
	}
	defer a.scores.Close()
	err = scorefile.Create(out, a.header, func(w *scorefile.Writer) error {
		complete, err = canonical(out, a, w)
		return err
	})
	return complete, err
}

// canonical writes the ledger, and the scores beside it if there are some.
func canonical(out string, a *audit, w *scorefile.Writer) (complete bool, err error) {
	digest := ""
	err = ledgerio.Create(out, a.header, func(e *ledgerio.Encoder) error {
		r, err := a.walk(func(l scoredLook) {
			e.Look(l.Look)
			if l.scores != nil {
				w.Append(l.scores)
			}
		})
		if err == nil && r.Kind == ledgerio.ClaimsLine {
			_, err = a.finish(r, nil)
		}
		var unfinished *UnfinishedError
		if err != nil && err != io.EOF && !errors.As(err, &unfinished) {
			return err
		}
		if complete = a.complete(); complete {
			err := e.Finish(a.claims())
			digest = e.Digest()
			return err
		}
		return e.Flush()
	})
	switch {
	case err != nil || w == nil:
	case complete:
		err = w.Finish(digest)
	default:
		err = w.SyncProvisional(nil)
	}
	return complete, err
}
