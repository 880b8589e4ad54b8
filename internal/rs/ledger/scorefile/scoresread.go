package scorefile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerfile"
	"github.com/certspec/certspec/rs/ledger"
)

// Error says where a file of scores is not what its ledger asks for.
type Error struct {
	File   string
	Offset int64 // bytes before the record
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("scores %s: byte %d: %s", e.File, e.Offset, e.Reason)
}

// scoresScanner reads the scores beside a ledger, record by record.
type scoresScanner struct {
	header ledger.Header
	cells  int
	file   string
	close  func() error
	in     *bufio.Reader
	hash   hash.Hash
	body   []byte
	at     int64 // bytes of whole records
	ended  bool
	digest string
}

// longestRecord bounds what a foreign file can make the reader hold.
const longestRecord = 1 << 16

// scanScores opens the scores beside a ledger with a header.
//
// Errors: those of Header.ScoreCells; the error wraps fs.ErrNotExist where the file is missing; a file that is of
// another run, or no scores, is a *Error.
func scanScores(path string, header ledger.Header) (*scoresScanner, error) {
	file := Path(path)
	f, err := ledgerfile.OpenTurns(file)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	s, err := newScoresScanner(file, f, header)
	if err == io.EOF {
		err = s.errorf("the file is empty or was cut in its first line")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.close = f.Close
	return s, nil
}

// newScoresScanner reads the first line; io.EOF means that it is not whole, but fits as far as it goes.
func newScoresScanner(file string, in io.Reader, header ledger.Header) (*scoresScanner, error) {
	s := &scoresScanner{header: header, file: file, in: bufio.NewReaderSize(in, 1<<16), hash: sha256.New()}
	var err error
	if s.cells, err = header.ScoreCells(); err != nil {
		return s, fmt.Errorf("scores %s: %w", file, err)
	}
	want, err := scoresHeaderOf(header)
	if err != nil {
		return s, err
	}
	have := make([]byte, len(want))
	n, err := io.ReadFull(s.in, have)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return s, fmt.Errorf("scores %s: %w", file, err)
	}
	if !bytes.HasPrefix(want, have[:n]) {
		return s, s.errorf("it begins with %s, the scores of this ledger begin with %s: it is no file of scores, or "+
			"of another run", journal.Quote(have[:n]), want[:len(want)-1])
	}
	if n < len(want) {
		return s, io.EOF
	}
	s.hash.Write(want)
	s.at = int64(n)
	return s, nil
}

// Close closes the file.
func (s *scoresScanner) Close() error { return s.close() }

// File is the name of the file.
func (s *scoresScanner) File() string { return s.file }

// Digest is the digest of the ledger which the scores were closed with; it is empty before the end, and
// where they are not closed.
func (s *scoresScanner) Digest() string { return s.digest }

func (s *scoresScanner) errorf(format string, args ...any) error {
	return &Error{s.file, s.at, fmt.Sprintf(format, args...)}
}

// Next reads the next whole record; io.EOF where there is none. Everything else that is wrong is a *Error.
func (s *scoresScanner) Next() (scores Record, provisional bool, err error) {
	tag, err := s.in.ReadByte()
	if err != nil {
		return scores, false, s.end(err)
	}
	if s.ended {
		return scores, false, s.errorf("a record behind the last")
	}
	length, err := s.length()
	if err != nil {
		return scores, false, err
	}
	if cap(s.body) < length {
		s.body = make([]byte, length)
	}
	s.body = s.body[:length]
	if _, err := io.ReadFull(s.in, s.body); err != nil {
		return scores, false, s.end(err)
	}
	switch tag {
	case scoresEnd:
		return scores, false, s.last()
	case scoresLook, scoresProvisional:
	default:
		return scores, false, s.errorf("a record of the kind %q; want %q, %q or %q", tag, scoresLook, scoresProvisional,
			scoresEnd)
	}
	if scores, err = parseScores(s.body, &s.header, s.cells); err != nil {
		return scores, false, s.errorf("%v", err)
	}
	s.keep(tag)
	return scores, tag == scoresProvisional, nil
}

// length reads the length of a record.
func (s *scoresScanner) length() (int, error) {
	var digits []byte
	for {
		d, err := s.in.ReadByte()
		if err != nil {
			return 0, s.end(err)
		}
		if digits = append(digits, d); d < 0x80 || len(digits) == binary.MaxVarintLen64 {
			break
		}
	}
	length, _, err := cutUvarint(digits)
	if err != nil || length > longestRecord {
		return 0, s.errorf("a record of %d bytes: want at most %d", length, longestRecord)
	}
	return int(length), nil
}

// keep counts a whole record.
func (s *scoresScanner) keep(tag byte) {
	record := appendRecord(nil, tag, s.body)
	s.hash.Write(record)
	s.at += int64(len(record))
}

// last reads the last record, and what follows it.
func (s *scoresScanner) last() error {
	sum := s.hash.Sum(nil)
	if len(s.body) != 2*len(sum) || !bytes.Equal(s.body[len(sum):], sum) {
		return s.errorf("the digest at the end is not that of the bytes before it: the file was altered or damaged")
	}
	s.ended, s.digest = true, "sha256:"+hex.EncodeToString(s.body[:len(sum)])
	s.keep(scoresEnd)
	if _, err := s.in.ReadByte(); err == nil {
		return s.errorf("bytes behind the last record")
	}
	return io.EOF
}

// end makes io.EOF of the end of the file, also in the midst of a record, as a power cut leaves it.
func (s *scoresScanner) end(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return fmt.Errorf("scores %s: %w", s.file, err)
}
