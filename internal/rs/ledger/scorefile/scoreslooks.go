package scorefile

import (
	"fmt"
	"io"

	"github.com/certspec/certspec/rs/ledger"
)

// Reader gives the scores of the looks of a ledger, in their order. A nil one is of a ledger without.
type Reader struct {
	scan   *scoresScanner
	header ledger.Header
}

// OpenReader opens the scores beside a ledger with a header, or returns nil if the header says that there are none.
// Errors: as of scanScores.
func OpenReader(path string, header ledger.Header) (*Reader, error) {
	if header.Scores == "" {
		return nil, nil
	}
	scan, err := scanScores(path, header)
	if err != nil {
		return nil, err
	}
	return &Reader{scan, header}, nil
}

// Close closes the file.
func (s *Reader) Close() {
	if s != nil {
		s.scan.Close()
	}
}

// Of gives the scores of the look that comes next; nil where it has none.
//
// Errors: scores that are missing or of another look, fewer unknown scores than misses, what is wrong with the file.
func (s *Reader) Of(l ledger.Look) (*Record, error) {
	if s == nil || !s.header.Scored(l) {
		return nil, nil
	}
	scores, provisional, err := s.scan.Next()
	switch {
	case err == io.EOF || err == nil && (provisional || scores.Address() != AddressOf(l)):
		return nil, fmt.Errorf("scores %s: those of image %d, blocks %d to %d, are missing, but the ledger has the look",
			s.scan.File(), l.Image, l.From, l.To)
	case err != nil:
		return nil, err
	case scores.Unknown < l.Misses:
		return nil, fmt.Errorf("scores %s: image %d, blocks %d to %d: %d scores are unknown, but %d noise samples "+
			"are misses", s.scan.File(), l.Image, l.From, l.To, scores.Unknown, l.Misses)
	}
	return &scores, nil
}

// Finish checks that the scores end with those of the last look, and that they were closed with the ledger of this
// digest.
func (s *Reader) Finish(digest string) error {
	if s == nil {
		return nil
	}
	scores, _, err := s.scan.Next()
	switch {
	case err == nil:
		return fmt.Errorf("scores %s: those of image %d, blocks %d to %d, are of no look of the closed ledger; the "+
			"same certify again puts them right", s.scan.File(), scores.Image, scores.From, scores.To)
	case err != io.EOF:
		return err
	case s.scan.Digest() == "":
		return fmt.Errorf("scores %s: not closed, though the ledger is; the same certify again closes them",
			s.scan.File())
	case s.scan.Digest() != digest:
		return fmt.Errorf("scores %s: closed with the ledger of digest %s, but this one has %s", s.scan.File(),
			s.scan.Digest(), digest)
	}
	return nil
}

// File is the name of the file.
func (s *Reader) File() string { return s.scan.File() }
