package rs

import (
	"fmt"
	"math"
	"strconv"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
)

// OpenAt reads the run that a ledger records, with the claims that its counts prove at the level alpha per image in the
// place of the level that it was made at. With the N-th part of that level for N images, the union bound makes all claims true
// together with the probability that the ledger gives to each: the selection, the looks and their samples do not depend on the
// level that bounds are derived at, so every look keeps its share of it, and a betting test its time-uniform wealth, now against 1/alpha.
//
// The header has the new levels. Errors are those of Open; an alpha that is not in (0, the ledger's α], as *OptionError; a
// ledger of a shard by blocks, which proves nothing alone.
func OpenAt(path string, alpha float64) (*Run, error) {
	run, err := Open(path)
	if err != nil {
		return nil, err
	}
	h := &run.Header
	if !(alpha > 0 && alpha <= h.Alpha) {
		return nil, optionErrorf("the level is %v, want a number above 0 and at most the ledger's, %v", alpha, h.Alpha)
	}
	if h.Shard != nil && h.Shard.By == "blocks" {
		return nil, fmt.Errorf("rs: ledger %s is a shard by blocks: merge the shards first", path)
	}
	l, err := ledger.Read(path)
	if err != nil {
		return nil, err
	}
	looks := make([]ledger.Level, len(h.Rule.Looks))
	for i, level := range h.Rule.Looks {
		looks[i] = ledger.Level{Copies: level.Copies, Alpha: level.Alpha * (alpha / h.Alpha)}
	}
	h.Alpha, h.Rule.Looks = alpha, looks
	d := deriver{header: h}
	for i, next := 0, 0; i < len(run.Rows); i++ {
		row := &run.Rows[i]
		from := next
		for next < len(l.Looks) && l.Looks[next].Image == row.Image {
			next++
		}
		if err := d.derive(row, l.Looks[from:next]); err != nil {
			return nil, fmt.Errorf("rs: ledger %s: image %d: %w", path, row.Image, err)
		}
	}
	return run, nil
}

// deriver bounds probabilities from counts at the levels of a header.
type deriver struct {
	header *ledger.Header
	least  map[[2]int]int // hits that certify, by target and samples
}

// derive sets the claim of a row from its looks.
func (d *deriver) derive(row *Row, looks []ledger.Look) error {
	h := d.header
	row.Class, row.K, row.N, row.Lower, row.Radius = Abstain, 0, 0, 0, 0
	selection := h.Selection / h.Block // blocks
	votes, hits := map[int32]int{}, 0
	class := int32(Abstain)
	targets := 0
	for _, look := range looks {
		if look.To <= selection {
			for _, c := range look.Counts {
				votes[c.Class] += c.N
			}
			continue
		}
		if look.From < selection {
			return fmt.Errorf("the look at blocks %d to %d goes over the end of the selection, block %d", look.From, look.To, selection)
		}
		if look.From == selection {
			class = mostVotes(votes)
		}
		for _, c := range look.Counts {
			if c.Class == class {
				hits += c.N
			}
		}
		if class == Abstain {
			continue
		}
		n := (look.To - selection) * h.Block
		if err := d.bound(row, hits, n, &targets); err != nil {
			return err
		}
	}
	if row.Lower >= 0.5 {
		row.Class = int(class)
	}
	return nil
}

// bound takes into a row what one look proves.
func (d *deriver) bound(row *Row, hits, n int, targets *int) error {
	h := d.header
	if h.Rule.Name == "betting" {
		return d.bet(row, hits, n, targets)
	}
	level, err := d.level(n)
	if err != nil {
		return err
	}
	p, err := bound.Lower(hits, n, level)
	if err != nil {
		return err
	}
	lower, radius, err := bound.Certificate(h.Sigma, p)
	if err != nil {
		return err
	}
	if row.N == 0 || lower > row.Lower {
		row.K, row.N, row.Lower, row.Radius = hits, n, lower, radius
	}
	return nil
}

// level is what the look after n samples spends.
func (d *deriver) level(n int) (float64, error) {
	h := d.header
	if h.Rule.Name == "iss" && len(h.Rule.Looks) == 1 {
		return h.Rule.Looks[0].Alpha, nil
	}
	for _, l := range h.Rule.Looks {
		if l.Copies == n {
			return l.Alpha, nil
		}
	}
	return 0, fmt.Errorf("the rule %q has no look after %d noise samples", h.Rule.Name, n)
}

// bet certifies further targets at a look, in ascending order.
func (d *deriver) bet(row *Row, hits, n int, targets *int) error {
	h := d.header
	if *targets == 0 {
		row.K, row.N = hits, n
	}
	for *targets < len(h.Rule.Targets) {
		target := h.Rule.Targets[*targets]
		p, err := strconv.ParseFloat(target.Probability, 64)
		if err != nil {
			return fmt.Errorf("the probability %.40q of the radius %v: want a number", target.Probability, target.Radius)
		}
		if d.least == nil {
			d.least = map[[2]int]int{}
		}
		key := [2]int{*targets, n}
		if d.least[key] == 0 {
			const one = 1e15 // in units of the last decimal p and 1−p are whole, so that the small one keeps its digits
			units := math.Round(p * one)
			test, err := bound.NewBetting(bound.Probability{P: units / one, Q: (one - units) / one}, h.Alpha)
			if err != nil {
				return err
			}
			d.least[key] = test.LeastHits(n)
		}
		if hits < d.least[key] {
			return nil
		}
		row.K, row.N, row.Lower, row.Radius = hits, n, p, target.Radius
		*targets++
	}
	return nil
}

// mostVotes is the class with the most votes, the smallest of equals; Abstain without any vote.
func mostVotes(votes map[int32]int) int32 {
	best := int32(Abstain)
	for class, n := range votes {
		if best == Abstain || n > votes[best] || n == votes[best] && class < best {
			best = class
		}
	}
	return best
}
