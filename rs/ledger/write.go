package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/linefile"
)

// ErrLocked says that another run, of this or another process, writes the ledger.
var ErrLocked = errors.New("another run writes this ledger")

// file is what a Writer needs of an os.File.
type file interface {
	io.Writer
	io.Seeker
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Writer appends to a ledger that no other process writes. It is not safe for concurrent use.
//
// After an error of writing, e.g. of a full disk, the lines that were synced stand in the file and
// the Writer refuses further work; opening the ledger again goes on from there.
type Writer struct {
	path     string
	f        file
	end      int64  // length of the file up to the last committed line that was written
	beyond   bool   // provisional lines stand behind end
	pending  []byte // committed lines that are not written yet
	hash     hash.Hash
	images   int  // that have looks
	last     int  // image of the last look
	byBlocks bool // a shard by blocks, which has no claims
	failed   error
	digest   string
}

// Open opens the ledger of a run for writing: it begins a new file, or reads what an earlier, interrupted
// run with the same header left there. The header's program may differ, and its version, which a new file gets; 0: the newest. The folder is made.
//
// The second result is what the file holds: provisional looks are still in it, a torn tail is not. The
// error is a *MismatchError where the file is of another run, a *FormatError or *VersionError where it
// cannot be read, and wraps ErrLocked where another process writes it.
func Open(path string, header Header) (*Writer, *Ledger, error) {
	header.Format = Format
	if header.Version == 0 {
		header.Version = Version
	}
	line, err := header.encode()
	if err != nil {
		return nil, nil, err
	}
	f, err := atomicfile.Open(path, os.O_RDWR)
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	w, l, err := open(path, f, header, line)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return w, l, nil
}

func open(path string, f *os.File, header Header, line []byte) (*Writer, *Ledger, error) {
	if locked, err := atomicfile.TryLock(f); err == nil && !locked { // a file system without locks is no error
		return nil, nil, fmt.Errorf("ledger %s: %w", path, ErrLocked)
	}
	l, err := decode(path, f)
	if err != nil {
		return nil, nil, err
	}
	w := &Writer{path: path, f: f, hash: sha256.New(), byBlocks: header.byBlocks()}
	if l == nil {
		if err := beginsLike(f, line); err != nil {
			return nil, nil, fmt.Errorf("ledger %s: %w", path, err)
		}
		if err := w.rewind(0); err != nil {
			return nil, nil, err
		}
		w.append(line)
		if err := w.Sync(); err != nil {
			return nil, nil, err
		}
		return w, &Ledger{Header: header, committed: w.end}, nil
	}
	if err := l.Header.SameRun(path, header); err != nil {
		return nil, nil, err
	}
	if l.Claims != nil {
		return w, l, w.resume(f, l.committed)
	}
	for i, look := range l.Looks {
		if i == 0 || look.Image != w.last {
			w.images++
		}
		w.last = look.Image
	}
	w.beyond = true
	return w, l, w.resume(f, l.committed)
}

// beginsLike checks that a file without a whole line is the beginning of the line, or of a header of another version: one that a power cut tore.
func beginsLike(f *os.File, line []byte) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	have, err := io.ReadAll(io.LimitReader(f, int64(len(line))))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, have) && !bytes.HasPrefix(have, []byte(headerBegin)) {
		return fmt.Errorf("the file is not a ledger, it begins with %s; name another ledger file", linefile.Quote(have))
	}
	return nil
}

// resume hashes the committed bytes and places the writer behind them. What follows them stays in
// the file until there is something to put in its place.
func (w *Writer) resume(f *os.File, committed int64) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if _, err := io.CopyN(w.hash, f, committed); err != nil {
		return fmt.Errorf("ledger %s: %w", w.path, err)
	}
	w.end = committed
	return nil
}

// Append commits a look. It is in the file, and safe from a power cut, after the next Sync.
func (w *Writer) Append(look Look) {
	if w.images == 0 || look.Image != w.last {
		w.images, w.last = w.images+1, look.Image
	}
	n := len(w.pending)
	w.pending = appendLook(w.pending, look)
	w.hash.Write(w.pending[n:])
}

func (w *Writer) append(line []byte) {
	w.pending = append(w.pending, line...)
	w.hash.Write(line)
}

// Sync writes all committed lines and waits until they are safe from a power cut.
func (w *Writer) Sync() error { return w.SyncProvisional(nil) }

// SyncProvisional is Sync, and puts the looks behind the committed lines as provisional ones.
// They replace earlier ones; the blocks of each continue the committed looks of its image.
func (w *Writer) SyncProvisional(looks []Look) error {
	if w.failed != nil {
		return w.failed
	}
	if len(w.pending) == 0 && len(looks) == 0 && !w.beyond {
		return nil
	}
	if err := w.write(looks); err != nil {
		w.failed = fmt.Errorf("ledger %s: %w; what was finished before stands in it: run again to go on", w.path, err)
		// A part of a line would be dropped by any reader; without it the file is also neat.
		w.f.Truncate(w.end)
		return w.failed
	}
	return nil
}

func (w *Writer) write(provisional []Look) error {
	if w.beyond {
		if err := w.rewind(w.end); err != nil {
			return err
		}
	} else if _, err := w.f.Seek(w.end, io.SeekStart); err != nil {
		return err
	}
	if _, err := w.f.Write(w.pending); err != nil {
		return err
	}
	if len(provisional) > 0 {
		var b []byte
		for _, look := range provisional {
			b = appendLook(append(b, '~'), look)
		}
		w.beyond = true
		if _, err := w.f.Write(b); err != nil {
			return err
		}
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	w.end += int64(len(w.pending))
	w.pending = w.pending[:0]
	return nil
}

// rewind cuts off all that stands behind end.
func (w *Writer) rewind(end int64) error {
	w.beyond = false
	if err := w.f.Truncate(end); err != nil {
		return err
	}
	_, err := w.f.Seek(end, io.SeekStart)
	return err
}

// Finish closes the ledger with its claims and digest, and syncs. The claims are in the order of the looks; a
// shard by blocks has none.
func (w *Writer) Finish(c Claims) error {
	if len(c.Images) != w.images && !w.byBlocks {
		panic(fmt.Sprintf("ledger: %d claims on %d images", len(c.Images), w.images))
	}
	w.append(appendClaims(nil, c))
	w.digest = digestOf(w.hash)
	w.append(appendDigest(nil, w.hash))
	return w.Sync()
}

// Digest is the last line of a ledger that was finished, as Ledger.Digest has it.
func (w *Writer) Digest() string { return w.digest }

// Close releases the file. It does not sync.
func (w *Writer) Close() error { return w.f.Close() }
