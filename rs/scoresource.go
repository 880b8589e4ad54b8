package rs

import (
	"fmt"
	"io"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// scoreSource gives the scores of the looks of a ledger, in their order. A nil one is of a ledger without.
type scoreSource struct {
	scan   *ledger.ScoresScanner
	header ledger.Header
}

// newScoreSource opens the scores beside a ledger, if its header says that there are some.
func newScoreSource(path string, header ledger.Header) (*scoreSource, error) {
	if header.Scores == "" {
		return nil, nil
	}
	scan, err := ledger.ScanScores(path, header)
	if err != nil {
		return nil, err
	}
	return &scoreSource{scan, header}, nil
}

func (s *scoreSource) close() {
	if s != nil {
		s.scan.Close()
	}
}

// of gives the scores of the look that comes next; nil where it has none.
func (s *scoreSource) of(l ledger.Look) (*ledger.Scores, error) {
	if s == nil || !s.header.Scored(l) {
		return nil, nil
	}
	scores, provisional, err := s.scan.Next()
	switch {
	case err == io.EOF || err == nil && (provisional || scores.Address() != l.ScoresAddress()):
		return nil, fmt.Errorf("scores %s: those of image %d, blocks %d to %d, are missing, but the ledger has the look", s.scan.File(), l.Image, l.From, l.To)
	case err != nil:
		return nil, err
	case scores.Unknown < l.Misses:
		return nil, fmt.Errorf("scores %s: image %d, blocks %d to %d: %d scores are unknown, but %d noise samples are misses", s.scan.File(), l.Image, l.From, l.To, scores.Unknown, l.Misses)
	}
	return &scores, nil
}

// ofClass refuses scores of another class than the trial of their image chose, which has not yet taken their look.
func ofClass(scores *ledger.Scores, t *rule.Trial) error {
	if scores != nil && int(scores.Class) != t.Class {
		return fmt.Errorf("the scores of image %d, blocks %d to %d, are of class %d, but the selection chose class %d", scores.Image, scores.From, scores.To, scores.Class, t.Class)
	}
	return nil
}

// finish checks that the scores end with those of the last look, and that they were closed with the ledger.
func (s *scoreSource) finish(digest string) error {
	if s == nil {
		return nil
	}
	scores, _, err := s.scan.Next()
	switch {
	case err == nil:
		return fmt.Errorf("scores %s: those of image %d, blocks %d to %d, are of no look of the closed ledger; the same certify again puts them right", s.scan.File(), scores.Image, scores.From, scores.To)
	case err != io.EOF:
		return err
	case s.scan.Digest() == "":
		return fmt.Errorf("scores %s: not closed, though the ledger is; the same certify again closes them", s.scan.File())
	case s.scan.Digest() != digest:
		return fmt.Errorf("scores %s: closed with the ledger of digest %s, but this one has %s", s.scan.File(), s.scan.Digest(), digest)
	}
	return nil
}
