package ledger

import (
	"fmt"
	"math"
	"strconv"

	"github.com/certspec/certspec/internal/journal"
)

// RuleName is the name of a rule, e.g. "staged"; package rule knows them.
type RuleName string

// Rule says how many samples an image gets and how the failure probability α is spent. Its fields are what
// a reader needs to judge every look and every claim, without a table of its own.
type Rule struct {
	Name RuleName `json:"name"`
	// staged, iss: radius given up for fewer samples, unit: full range of a pixel value
	Tolerance float64  `json:"tolerance,omitempty"`
	Relative  bool     `json:"relative,omitempty"` // iss: Tolerance is a fraction of the radius instead
	Looks     []Level  `json:"looks"`
	Sizes     []Size   `json:"sizes,omitempty"`    // iss: samples of the one look, by the votes of the selection
	Targets   []Target `json:"targets,omitempty"`  // betting: radii that are tested, ascending
	Futility  float64  `json:"futility,omitempty"` // betting: level of the test that stops hopeless images
	Budget    string   `json:"budget"`             // how α is spent, in words
}

// Level is one planned look: a bound of confidence 1−Alpha after Samples noise samples, those of the selection not
// counted.
type Level struct {
	Samples int     `json:"copies"`
	Alpha   float64 `json:"alpha"`
}

// Size gives one look of Samples noise samples, or none where Samples is 0, to some images: their chosen class has at
// least Hits votes in the selection, and fewer than the next Size has.
type Size struct {
	Hits    int `json:"hits"`
	Samples int `json:"copies"`
}

// Target is a radius that is tested, and the probability that certifies it.
type Target struct {
	Radius      float64 `json:"radius"`      // unit: full range of a pixel value
	Probability string  `json:"probability"` // Φ(Radius/σ), a decimal, rounded up
}

// Shard says which part of a run a ledger holds.
type Shard struct {
	By    string `json:"by"`    // ShardImages or ShardBlocks; always set in a header
	Index int    `json:"index"` // from 0
	Count int    `json:"count"` // of all shards
}

// How a run is split. By images, shard i of n has the images whose position in the data is i modulo n. By
// blocks, it has of each image's B blocks, those of the selection first, the blocks ⌊i·B/n⌋ to ⌊(i+1)·B/n⌋.
const (
	ShardImages = "images"
	ShardBlocks = "blocks"
)

func (s *Shard) check() error {
	switch {
	case s == nil:
		return nil
	case s.By != ShardImages && s.By != ShardBlocks:
		return fmt.Errorf("shard by %q, want %q or %q", s.By, ShardImages, ShardBlocks)
	case s.Count < 1 || s.Count > mostShards || s.Index < 0 || s.Index >= s.Count:
		return fmt.Errorf("shard %d of %d, want 1 to %d shards, counted from 0", s.Index, s.Count, mostShards)
	}
	return nil
}

// check refuses what has no meaning under any rule.
func (r Rule) check() error {
	last := 0
	for _, l := range r.Looks {
		if l.Samples <= last || l.Samples > mostSamples || !(l.Alpha > 0 && l.Alpha < 1) {
			return fmt.Errorf("look after %d noise samples at level %v: want ascending noise samples and levels "+
				"between 0 and 1", l.Samples, l.Alpha)
		}
		last = l.Samples
	}
	if !(r.Tolerance >= 0) || math.IsInf(r.Tolerance, 0) {
		return fmt.Errorf("tolerance %v, want a number that is not negative", r.Tolerance)
	}
	if !(r.Futility >= 0 && r.Futility < 1) {
		return fmt.Errorf("futility %v, want a level between 0 and 1", r.Futility)
	}
	hits := -1
	for _, s := range r.Sizes {
		if s.Hits <= hits || s.Samples < 0 || s.Samples > mostSamples {
			return fmt.Errorf("%d noise samples from %d hits on: want ascending hits and noise samples that are not "+
				"negative", s.Samples, s.Hits)
		}
		hits = s.Hits
	}
	radius := math.Inf(-1)
	for _, t := range r.Targets {
		p, err := strconv.ParseFloat(t.Probability, 64)
		switch {
		case !(t.Radius >= 0) || math.IsInf(t.Radius, 0) || t.Radius <= radius:
			return fmt.Errorf("target radius %v: want ascending radii of at least 0", t.Radius)
		case err != nil || !isDecimal(t.Probability) || p < 0.5 || p >= 1:
			return fmt.Errorf("target radius %v has the probability %s, want a decimal from 0.5 to below 1", t.Radius,
				journal.Quote([]byte(t.Probability)))
		}
		radius = t.Radius
	}
	return nil
}

// plain reports whether the rule and the shard have nothing that version 1 did not have.
func (h Header) plain() bool {
	r := h.Rule
	return !r.Relative && r.Sizes == nil && r.Targets == nil && r.Futility == 0 && h.Shard == nil
}
