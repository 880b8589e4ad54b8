package linefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/certspec/certspec/internal/atomicfile"
)

// ErrLocked says that another run, of this or another process, writes the file.
var ErrLocked = errors.New("another run writes this file")

// Writer appends to a file that no other process writes. It is not safe for concurrent use.
type Writer struct {
	path    string
	f       *os.File
	pending []byte
	end     int64
	hash    hash.Hash
	failed  error
}

// Open opens a file for appending, makes it and its folder where they are missing, and returns the whole lines that it holds. Bytes
// behind the last newline, as a power cut leaves them, are cut off. The error wraps ErrLocked where another process writes the file.
func Open(path string) (*Writer, []byte, error) {
	f, err := atomicfile.Open(path, os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	w := &Writer{path: path, f: f, hash: sha256.New()}
	whole, err := w.lines()
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, whole, nil
}

func (w *Writer) lines() ([]byte, error) {
	if info, err := w.f.Stat(); err != nil || !info.Mode().IsRegular() { // a device such as /dev/full may never end
		return nil, errors.Join(err, errors.New("not a regular file; name another"))
	}
	if locked, err := atomicfile.TryLock(w.f); err == nil && !locked { // a file system without locks is no error
		return nil, ErrLocked
	}
	data, err := io.ReadAll(w.f)
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Keep says that the first n bytes stay, and cuts off what follows them. It comes before the first Append.
func (w *Writer) Keep(data []byte, n int) error {
	if n < len(data) {
		if err := w.f.Truncate(int64(n)); err != nil {
			return err
		}
	}
	w.hash.Write(data[:n])
	w.end = int64(n)
	_, err := w.f.Seek(w.end, io.SeekStart)
	return err
}

// Append adds lines. They are in the file, and safe from a power cut, after the next Sync.
func (w *Writer) Append(lines []byte) {
	w.pending = append(w.pending, lines...)
	w.hash.Write(lines)
}

// Sync writes what was appended. After an error, e.g. of a full disk, the lines that were synced before stand in the file, and the
// Writer refuses further work.
func (w *Writer) Sync() error {
	if w.failed != nil || len(w.pending) == 0 {
		return w.failed
	}
	_, err := w.f.Write(w.pending)
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		w.failed = fmt.Errorf("%s: %w; what was finished before stands in it: run again to go on", w.path, err)
		w.f.Truncate(w.end) // a reader drops a part of a line; without it the file is also neat
		return w.failed
	}
	w.end += int64(len(w.pending))
	w.pending = w.pending[:0]
	return nil
}

// Finish appends the digest of all lines, and syncs.
func (w *Writer) Finish() (digest string, err error) {
	line, digest := Digest(w.hash)
	w.Append(line)
	return digest, w.Sync()
}

// Close releases the file. It does not sync.
func (w *Writer) Close() error { return w.f.Close() }

// Digest is the last line of a closed file, and its digest as "sha256:…".
func Digest(h hash.Hash) (line []byte, digest string) {
	sum := hex.EncodeToString(h.Sum(nil))
	return []byte("sha256 " + sum + "\n"), "sha256:" + sum
}

// Whole is the length of the whole lines of data.
func Whole(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }
