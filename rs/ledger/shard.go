package ledger

import "math/bits"

// byBlocks reports whether the ledger is a shard by blocks, whose images begin at any block and which claims nothing.
func (h *Header) byBlocks() bool { return h.Shard != nil && h.Shard.By == ShardBlocks }

// Images is how many of the run's images a ledger has: a shard by images those whose position in the data is Index
// modulo Count, every other ledger all.
func (h *Header) Images() int {
	if h.Shard == nil || h.Shard.By != ShardImages {
		return h.Data.Images
	}
	n := h.Data.Images / h.Shard.Count
	if h.Shard.Index < h.Data.Images%h.Shard.Count {
		n++
	}
	return n
}

// Blocks is the range of blocks [from, to) that a ledger has of an image with so many blocks in all, those of the
// selection included: a shard by blocks ⌊Index·all/Count⌋ to ⌊(Index+1)·all/Count⌋, every other ledger all.
func (h *Header) Blocks(all int) (from, to int) {
	if !h.byBlocks() {
		return 0, all
	}
	part := func(i int) int {
		high, low := bits.Mul64(uint64(i), uint64(all))
		q, _ := bits.Div64(high, low, uint64(h.Shard.Count))
		return int(q)
	}
	return part(h.Shard.Index), part(h.Shard.Index + 1)
}
