// Package inflate bounds what a compressed file may become. What a small file cannot honestly hold
// is refused before it is inflated where its size is announced (an archive's directory, a header, a
// picture's sides), else as soon as it is there.
//
// The one rule: up to Free bytes are free; beyond, at most Ratio bytes for each that is read.
// Weights and photographs shrink by a factor of 1 to 20; deflate can reach 1032, and a picture of
// one colour or an array that repeats itself any.
package inflate

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	Free  = 64 << 20
	Ratio = 50
)

// BombError says that something would become too large for the bytes that it comes from.
type BombError struct {
	What         string
	Size, Packed int64 // bytes: inflated, at least; as stored
}

func (e *BombError) Error() string {
	return fmt.Sprintf("%s: %d bytes would become %d or more; at most %d times as many are read, or %d; unpack it "+
		"first where it is meant to be so large",
		e.What, e.Packed, e.Size, Ratio, Free)
}

// Check applies the rule to something that announces its size.
func Check(what string, size, packed int64) error {
	if size < 0 || size > Free && size/Ratio > packed {
		return &BombError{what, size, packed}
	}
	return nil
}

// Stream reads bytes that may be gzipped; their first ones decide.
type Stream struct {
	Packed int64 // size of the file, −1 where it is not known
	in     counter
	out    int64
	r      io.Reader
	zipped bool
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// NewStream reads from a file of a size, −1 where it is not known.
func NewStream(r io.Reader, packed int64) (*Stream, error) {
	s := &Stream{Packed: packed, in: counter{r: r}}
	buffered := bufio.NewReaderSize(&s.in, 1<<16)
	s.r = buffered
	if first, _ := buffered.Peek(2); bytes.Equal(first, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("damaged gzip header: %w", err)
		}
		s.r, s.zipped = z, true
	}
	return s, nil
}

// Zipped reports whether they are.
func (s *Stream) Zipped() bool { return s.zipped }

func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.out += int64(n)
	if s.zipped {
		if bomb := Check("gzip", s.out, s.in.n); bomb != nil {
			return 0, bomb
		}
	}
	return n, err
}

// Announced checks what a header says is to come.
func (s *Stream) Announced(what string, size int64) error {
	if s.Packed < 0 {
		return nil // what really comes is counted
	}
	return Check(what, size, s.Packed)
}

// Tar visits the entries of a tar archive. What an entry announces is checked, alone and with all before it: a sparse
// one has less in the file.
func (s *Stream) Tar(visit func(*tar.Header, io.Reader) error) error {
	total := int64(0)
	for archive := tar.NewReader(s); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("damaged tar archive: %w", err)
		}
		if total += entry.Size; total < 0 {
			total = math.MaxInt64
		}
		if err := s.Announced("tar archive", total); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
		if err := visit(entry, archive); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
	}
	// What follows the archive's end holds gzip's checksum.
	_, err := io.Copy(io.Discard, s)
	return err
}

// Zip gives the files of a zip archive after a check of its directory: each file, and all together.
func Zip(data []byte) ([]*zip.File, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	total := uint64(0)
	for _, f := range archive.File {
		size := f.UncompressedSize64
		if total += size; size > math.MaxInt64 || total > math.MaxInt64 {
			total = math.MaxInt64
		}
		if err := Check(f.Name, int64(min(size, math.MaxInt64)),
			int64(min(f.CompressedSize64, math.MaxInt64))); err != nil {
			return nil, err
		}
		if err := Check("zip archive", int64(total), int64(len(data))); err != nil {
			return nil, err
		}
	}
	return archive.File, nil
}

// End makes sure that nothing follows, which also verifies a checksum.
func End(r io.Reader) error {
	switch n, err := io.CopyN(io.Discard, r, 1); {
	case n > 0:
		return errors.New("more data than announced")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
