package ledgerfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/certspec/certspec/internal/atomicfile"
)

// Create makes a file, and says what to do where one of that name is there.
func Create(path string, fill func(f *os.File) error) error {
	var filled error
	err := atomicfile.Create(path, func(f *os.File) error {
		filled = fill(f)
		return filled
	})
	switch {
	case err == nil || err == filled:
		return err
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("ledger %w; name another file", err)
	}
	return fmt.Errorf("ledger: %w", err)
}
