package ledgerio

import (
	"fmt"
	"io"
	"os"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerfile"
	"github.com/certspec/certspec/rs/ledger"
)

// Create makes a whole ledger in one step: readers find it complete or not at all. write gives it its lines, from
// the looks on, and ends with Finish or Flush. The folder is made. A file that exists stays as it is, and is an
// error that wraps fs.ErrExist unless it has the same bytes.
func Create(path string, header ledger.Header, write func(*Encoder) error) error {
	return ledgerfile.Create(path, func(f *os.File) error {
		e, err := newEncoder(f, header)
		if err != nil {
			return err
		}
		return write(e)
	})
}

// Replace is Create for a file that may be there, which readers find as it was or as it becomes.
func Replace(path string, header ledger.Header, write func(*Encoder) error) error {
	err := atomicfile.Build(path, func(w io.Writer) error {
		e, err := newEncoder(w, header)
		if err != nil {
			return err
		}
		return write(e)
	})
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}
