package journal

import (
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

// File has the methods of os.File that a Writer needs.
type File interface {
	io.Reader
	io.Writer
	io.Seeker
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Writer appends to a file that no other process writes. It is not safe for concurrent use.
//
// After an error of writing, e.g. of a full disk, the lines that were synced stand in the file and the Writer refuses
// further work; opening the file again goes on from there.
type Writer struct {
	path    string
	f       File
	end     int64  // length of the file up to the last line that was written and stays
	beyond  bool   // something stands behind end
	pending []byte // lines that are not written yet
	hash    hash.Hash
	failed  error
}

// Open opens a file for writing, makes it and its folder where they are missing. The error wraps ErrLocked where
// another process writes the file. Keep comes before the first line.
func Open(path string) (*Writer, error) {
	f, err := atomicfile.Open(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := lockRegular(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return On(f, path), nil
}

// On is a Writer of an empty file that nobody else writes.
func On(f File, path string) *Writer { return &Writer{path: path, f: f, hash: sha256.New()} }

func lockRegular(f *os.File) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() { // a device such as /dev/full may never end
		return errors.Join(err, errors.New("not a regular file; name another"))
	}
	if locked, err := atomicfile.TryLock(f); err == nil && !locked { // a file system without locks is no error
		return ErrLocked
	}
	return nil
}

// Through puts something between the Writer and its file, as tests do.
func (w *Writer) Through(wrap func(File) File) { w.f = wrap(w.f) }

// Reader reads the file from its beginning. It is for the time before Keep.
func (w *Writer) Reader() (io.Reader, error) {
	if _, err := w.f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("%s: %w", w.path, err)
	}
	return w.f, nil
}

// ReadAll reads the file as Reader does.
func (w *Writer) ReadAll() ([]byte, error) {
	in, err := w.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.path, err)
	}
	return data, nil
}

// Keep says that the first n bytes stay, and hashes them. What follows them, such as a torn line, stays in the
// file until the next sync puts something in its place.
func (w *Writer) Keep(n int64) error {
	in, err := w.Reader()
	if err != nil {
		return err
	}
	if _, err := io.CopyN(w.hash, in, n); err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	size, err := w.f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	w.end, w.beyond = n, size > n
	return nil
}

// Append adds lines. They are in the file, and safe from a power cut, after the next sync.
func (w *Writer) Append(lines []byte) {
	w.pending = append(w.pending, lines...)
	w.hash.Write(lines)
}

// Sync writes what was appended, and waits until it is safe from a power cut.
func (w *Writer) Sync() error { return w.SyncTail(nil) }

// SyncTail is Sync, and puts a tail behind the lines, which is no part of them: the next sync takes it away.
func (w *Writer) SyncTail(tail []byte) error {
	if w.failed != nil {
		return w.failed
	}
	if len(w.pending) == 0 && len(tail) == 0 && !w.beyond {
		return nil
	}
	if err := w.write(tail); err != nil {
		w.failed = fmt.Errorf("%s: %w; what was finished before stands in it: run again to go on", w.path, err)
		w.f.Truncate(w.end) // any reader drops a part of a line; without it the file is also neat
		return w.failed
	}
	w.beyond = len(tail) > 0
	w.end += int64(len(w.pending))
	w.pending = w.pending[:0]
	return nil
}

func (w *Writer) write(tail []byte) error {
	if w.beyond {
		if err := w.f.Truncate(w.end); err != nil {
			return err
		}
	}
	if _, err := w.f.Seek(w.end, io.SeekStart); err != nil {
		return err
	}
	if _, err := w.f.Write(w.pending); err != nil {
		return err
	}
	if len(tail) > 0 {
		if _, err := w.f.Write(tail); err != nil {
			return err
		}
	}
	return w.f.Sync()
}

// Sum is the SHA-256 of all lines so far.
func (w *Writer) Sum() []byte { return w.hash.Sum(nil) }

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
