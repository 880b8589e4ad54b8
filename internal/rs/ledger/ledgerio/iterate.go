package ledgerio

import (
	"io"
	"iter"

	"github.com/certspec/certspec/rs/ledger"
)

// Images gives the looks of one image after the other, and ends before the first record that is none; All gives that
// and those behind it. The slice is valid until the following image. An error is the last that it gives.
func (s *Scanner) Images() iter.Seq2[[]ledger.Look, error] {
	return func(yield func([]ledger.Look, error) bool) {
		var looks []ledger.Look
		for {
			r, err := s.Next()
			if err == nil && r.Kind == LookLine && (len(looks) == 0 || looks[0].Image == r.Look.Image) {
				looks = append(looks, r.Look)
				continue
			}
			if err == nil {
				s.behind = &r
			}
			if len(looks) > 0 && (err == nil || err == io.EOF) && !yield(looks, nil) {
				return
			}
			if err != nil {
				if err != io.EOF {
					yield(nil, err)
				}
				return
			}
			if r.Kind != LookLine {
				return
			}
			looks, s.behind = append(looks[:0], r.Look), nil
		}
	}
}

// All gives the records that are left, as Next does. An error is the last that it gives.
func (s *Scanner) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			r, err := s.Next()
			if err == io.EOF || !yield(r, err) || err != nil {
				return
			}
		}
	}
}
