package rs

import (
	"errors"
	"io"

	"github.com/certspec/certspec/rs/ledger"
)

// Canonical writes the canonical form of a ledger to another file: what of an interrupted run stays whatever
// happens next. Provisional lines and a torn tail are dropped. Looks stand as in the file, which is in
// the order of the data. Where all images are decided, the claims and the digest follow from them.
//
// It is a function of the ledger, and of its own output gives the same bytes: a closed ledger is its own canonical form.
// One that claims what does not follow from its counts is a *ledger.FormatError. The output may not exist, unless
// with the same bytes.
func Canonical(out, path string) (complete bool, err error) {
	a, err := newAudit(path)
	if err != nil {
		return false, err
	}
	defer a.scan.Close()
	err = ledger.Create(out, a.header, func(e *ledger.Encoder) error {
		r, err := a.walk(e.Look)
		if err == nil && r.Kind == ledger.ClaimsLine {
			_, err = a.finish(r, nil)
		}
		var unfinished *UnfinishedError
		if err != nil && err != io.EOF && !errors.As(err, &unfinished) {
			return err
		}
		if complete = a.complete(); complete {
			return e.Finish(a.claims())
		}
		return e.Flush()
	})
	return complete, err
}
