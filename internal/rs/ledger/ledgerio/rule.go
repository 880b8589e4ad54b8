package ledgerio

import (
	"fmt"
	"math"
	"strconv"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

func checkShard(s *ledger.Shard) error {
	switch {
	case s == nil:
		return nil
	case s.By != ledger.ShardImages && s.By != ledger.ShardBlocks:
		return fmt.Errorf("shard by %q, want %q or %q", s.By, ledger.ShardImages, ledger.ShardBlocks)
	case s.Count < 1 || s.Count > mostShards || s.Index < 0 || s.Index >= s.Count:
		return fmt.Errorf("shard %d of %d, want 1 to %d shards, counted from 0", s.Index, s.Count, mostShards)
	}
	return nil
}

// checkRule refuses what has no meaning under any rule.
func checkRule(r ledger.Rule) error {
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
func plain(h ledger.Header) bool {
	r := h.Rule
	return !r.Relative && r.Sizes == nil && r.Targets == nil && r.Futility == 0 && h.Shard == nil
}
