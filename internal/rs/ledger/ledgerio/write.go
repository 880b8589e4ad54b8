package ledgerio

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

// Writer appends to a ledger that no other process writes. It is not safe for concurrent use.
//
// After an error of writing, e.g. of a full disk, the lines that were synced stand in the file and
// the Writer refuses further work; opening the ledger again goes on from there.
type Writer struct {
	w        *journal.Writer
	images   int  // that have looks
	last     int  // image of the last look
	byBlocks bool // a shard by blocks, which has no claims
	digest   string
}

// Open opens the ledger of a run for writing. It begins a new file, or reads the file of an earlier, interrupted run
// with the same header. The header's program may differ, and its version; a new file gets that version, or the newest
// for 0. The folder is made.
//
// The second result is the content of the file: provisional looks are still in it, a torn tail is not. The error is a
// *MismatchError if the file is of another run, and a *FormatError or *VersionError if it cannot be read. It wraps
// ErrLocked if another process writes the file.
func Open(path string, header ledger.Header) (*Writer, *ledger.Ledger, error) {
	header.Format = ledger.Format
	header.Version = cmp.Or(header.Version, ledger.VersionOf(header.Noise))
	line, err := encodeHeader(header)
	if err != nil {
		return nil, nil, err
	}
	j, err := journal.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("ledger %w", err)
	}
	w, l, err := open(path, j, header, line)
	if err != nil {
		j.Close()
		return nil, nil, err
	}
	return w, l, nil
}

func open(path string, j *journal.Writer, header ledger.Header, line []byte) (*Writer, *ledger.Ledger, error) {
	in, err := j.Reader()
	if err != nil {
		return nil, nil, fmt.Errorf("ledger %w", err)
	}
	l, committed, err := decode(path, in)
	if err != nil {
		return nil, nil, err
	}
	w := &Writer{w: j, byBlocks: byBlocks(&header)}
	if l == nil {
		if err := beginsLike(j, line); err != nil {
			return nil, nil, fmt.Errorf("ledger %s: %w", path, err)
		}
		if err := w.keep(0); err != nil {
			return nil, nil, err
		}
		j.Append(line)
		if err := w.Sync(); err != nil {
			return nil, nil, err
		}
		return w, &ledger.Ledger{Header: header}, nil
	}
	if err := l.Header.SameRun(path, header); err != nil {
		return nil, nil, err
	}
	if l.Claims == nil {
		for i, look := range l.Looks {
			if i == 0 || look.Image != w.last {
				w.images++
			}
			w.last = look.Image
		}
	}
	return w, l, w.keep(committed)
}

func (w *Writer) keep(n int64) error {
	if err := w.w.Keep(n); err != nil {
		return fmt.Errorf("ledger %w", err)
	}
	return nil
}

// beginsLike checks that a file without a whole line is the beginning of the line, or of a header
// of another version: one that a power cut tore.
func beginsLike(j *journal.Writer, line []byte) error {
	in, err := j.Reader()
	if err != nil {
		return err
	}
	have, err := io.ReadAll(io.LimitReader(in, int64(len(line))))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, have) && !bytes.HasPrefix(have, []byte(headerBegin)) {
		return fmt.Errorf("the file is not a ledger, it begins with %s; name another ledger file", journal.Quote(have))
	}
	return nil
}

// Append commits a look. It is in the file, and safe from a power cut, after the next Sync.
func (w *Writer) Append(look ledger.Look) {
	if w.images == 0 || look.Image != w.last {
		w.images, w.last = w.images+1, look.Image
	}
	w.w.Append(appendLook(nil, look))
}

// Sync writes all committed lines and waits until they are safe from a power cut.
func (w *Writer) Sync() error { return w.SyncProvisional(nil) }

// SyncProvisional is Sync, and puts the looks behind the committed lines as provisional ones.
// They replace earlier ones; the blocks of each continue the committed looks of its image.
func (w *Writer) SyncProvisional(looks []ledger.Look) error {
	var tail []byte
	for _, look := range looks {
		tail = appendLook(append(tail, '~'), look)
	}
	if err := w.w.SyncTail(tail); err != nil {
		return fmt.Errorf("ledger %w", err)
	}
	return nil
}

// Finish closes the ledger with its claims and digest, and syncs. The claims are in the order of the looks; a
// shard by blocks has none.
func (w *Writer) Finish(c ledger.Claims) error {
	if len(c.Images) != w.images && !w.byBlocks {
		panic(fmt.Sprintf("ledger: %d claims on %d images", len(c.Images), w.images))
	}
	w.w.Append(appendClaims(nil, c))
	digest, err := w.w.Finish()
	if err != nil {
		return fmt.Errorf("ledger %w", err)
	}
	w.digest = digest
	return nil
}

// Digest is the last line of a ledger that was finished, as Ledger.Digest has it.
func (w *Writer) Digest() string { return w.digest }

// Close releases the file. It does not sync.
func (w *Writer) Close() error { return w.w.Close() }
