package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Create makes a whole ledger in one step: readers find it complete or not at all. write gives it its lines, from
// the looks on, and ends with Finish or Flush. The folder is made. A file that exists stays as it is, and is an
// error that wraps fs.ErrExist unless it has the same bytes.
func Create(path string, header Header, write func(*Encoder) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer os.Remove(f.Name()) // no longer there after the rename
	defer f.Close()
	e, err := NewEncoder(f, header)
	if err != nil {
		return err
	}
	if err := write(e); err != nil {
		return err
	}
	return place(f, path)
}

// place closes a file that is written and gives it its name, unless a file of that name is there.
func place(f *os.File, path string) error {
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	if same, err := sameContent(f.Name(), path); err == nil {
		if !same {
			return fmt.Errorf("ledger %s: %w with another content; name another file", path, fs.ErrExist)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func sameContent(a, b string) (bool, error) {
	in, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer in.Close()
	other, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer other.Close()
	for x, y := make([]byte, 1<<16), make([]byte, 1<<16); ; {
		n, err1 := io.ReadFull(in, x)
		m, err2 := io.ReadFull(other, y)
		end1, end2 := err1 == io.EOF || err1 == io.ErrUnexpectedEOF, err2 == io.EOF || err2 == io.ErrUnexpectedEOF
		switch {
		case err1 != nil && !end1:
			return false, err1
		case err2 != nil && !end2:
			return false, err2
		case !bytes.Equal(x[:n], y[:m]) || end1 != end2:
			return false, nil
		case end1:
			return true, nil
		}
	}
}
