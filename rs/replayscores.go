package rs

import (
	"errors"
	"io/fs"
	"math"

	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/rs/ledger"
)

// ReplayedScores is the result of Replay for the scores beside a ledger.
type ReplayedScores struct {
	Looks   int     `json:"looks"`           // that have scores
	Equal   int     `json:"equal"`           // with the same counts in all cells, and the same sums
	Samples int     `json:"copies"`          // whose score came out in another cell, at least
	Mean    float64 `json:"mean_difference"` // largest difference of the mean score of a look
}

// scoresOfLooks gives the scores of some looks of a ledger, which stand in its order; nil where the
// run kept none, or they are missing.
func scoresOfLooks(path string, l *ledger.Ledger, looks []ledger.Look) ([]*scorefile.Record, error) {
	source, err := scorefile.OpenReader(path, l.Header)
	if errors.Is(err, fs.ErrNotExist) || source == nil && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer source.Close()
	all := make([]*scorefile.Record, len(looks))
	next := 0
	for _, look := range l.Looks {
		if next == len(looks) {
			break
		}
		scores, err := source.Of(look)
		if err != nil {
			return nil, err
		}
		if look.Image == looks[next].Image && look.From == looks[next].From {
			all[next] = scores
			next++
		}
	}
	return all, nil
}

// compare adds a look.
func (r *ReplayedScores) compare(stored *scorefile.Record, now *scoreTally) {
	sum := now.sum()
	sum.Image, sum.From, sum.To, sum.Class = stored.Image, stored.From, stored.To, stored.Class
	r.Looks++
	if sum.Equal(stored) {
		r.Equal++
		return
	}
	before := map[int]int{}
	for _, c := range stored.Cells {
		before[c.Index] = c.N
	}
	moved, samples := max(0, sum.Unknown-stored.Unknown), sum.Unknown
	for _, c := range sum.Cells {
		moved += max(0, c.N-before[c.Index])
		samples += c.N
	}
	r.Samples += moved
	mean := func(s *scorefile.Record) float64 {
		return (float64(s.Low) + float64(s.High)) / 2 / scorefile.Unit / float64(samples)
	}
	r.Mean = max(r.Mean, math.Abs(mean(sum)-mean(stored)))
}
