package record

import (
	"bytes"
	"fmt"

	"github.com/certspec/certspec/internal/journal"
)

// Writer appends to a file. It is not safe for concurrent use.
type Writer struct {
	w *journal.Writer
	h Header
}

// Open opens the file of a run for writing: it begins a new one, or reads what an earlier,
// interrupted run with the same header left there. The folder is made. Errors: a *MismatchError
// where the file is of another run, a *FormatError where it cannot be read, one that wraps
// journal.ErrLocked where another process writes it.
func Open(path string, header Header) (*Writer, *File, error) {
	header.Format, header.Version = format, version
	line, err := header.encode()
	if err != nil {
		return nil, nil, err
	}
	w, err := journal.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("ood: %w", err)
	}
	data, err := w.ReadAll()
	if err != nil {
		w.Close()
		return nil, nil, fmt.Errorf("ood: %w", err)
	}
	f, err := begin(w, path, data, header, line)
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return &Writer{w, f.Header}, f, nil
}

func begin(w *journal.Writer, path string, data []byte, header Header, line []byte) (*File, error) {
	f, err := decode(path, data)
	switch {
	case err != nil:
		return nil, err
	case f == nil && !bytes.HasPrefix(line, data) && !bytes.HasPrefix(data, []byte(headerBegin)):
		return nil, &FormatError{path, 1, fmt.Sprintf("the file begins with %s; name another file",
			journal.Quote(data)), false}
	case f == nil:
		if err := w.Keep(0); err != nil {
			return nil, fmt.Errorf("ood: %w", err)
		}
		w.Append(line)
		if err := w.Sync(); err != nil {
			return nil, fmt.Errorf("ood: %w", err)
		}
		return &File{Path: path, Header: header}, nil
	}
	if err := f.Header.SameRun(path, header); err != nil {
		return nil, err
	}
	if err := w.Keep(int64(f.committed)); err != nil {
		return nil, fmt.Errorf("ood: %w", err)
	}
	return f, nil
}

// Append adds the lines of images, which Check passes. They are in the file after the next Sync.
func (w *Writer) Append(lines ...Line) {
	for _, l := range lines {
		w.w.Append(w.h.append(nil, l))
	}
}

// Sync writes what was appended and waits until it is safe from a power cut.
func (w *Writer) Sync() error {
	if err := w.w.Sync(); err != nil {
		return fmt.Errorf("ood: %w", err)
	}
	return nil
}

// Finish closes the file with the claims of its lines and the digest.
func (w *Writer) Finish(lines []Line) (Claims, string, error) {
	c := w.h.Claim(lines)
	w.w.Append(w.h.text(c))
	digest, err := w.w.Finish()
	if err != nil {
		return c, "", fmt.Errorf("ood: %w", err)
	}
	return c, digest, nil
}

// Close releases the file.
func (w *Writer) Close() error { return w.w.Close() }
