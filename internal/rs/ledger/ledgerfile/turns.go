// Package ledgerfile makes and opens the files of a ledger.
package ledgerfile

import (
	"io"
	"os"
	"sync/atomic"
)

// mostOpen is how many files are open at once by readers of regular files. Further ones open theirs for each read, so
// that any number of ledgers can be read side by side.
const mostOpen = 200

var opened atomic.Int64

// Turns reads a file that need not be open in between.
type Turns struct {
	path string
	file *os.File // nil: opened for each read
	at   int64
	Size int64 // of a regular file
}

func OpenTurns(path string) (*Turns, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t := &Turns{path: path, file: file}
	info, err := file.Stat()
	regular := err == nil && info.Mode().IsRegular()
	if regular {
		t.Size = info.Size()
	}
	if opened.Add(1) > mostOpen && regular {
		return t, t.Close()
	}
	return t, nil
}

func (t *Turns) Read(p []byte) (n int, err error) {
	if t.file != nil {
		return t.file.Read(p)
	}
	file, err := os.Open(t.path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	n, err = file.ReadAt(p, t.at)
	if t.at += int64(n); n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Close closes the file, where it is open.
func (t *Turns) Close() error {
	if t.file == nil {
		return nil
	}
	opened.Add(-1)
	err := t.file.Close()
	t.file = nil
	return err
}
