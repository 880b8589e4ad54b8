package ledger

// byBlocks reports whether the ledger is a shard by blocks, whose images begin at any block and which claims nothing.
func (h *Header) byBlocks() bool { return h.Shard != nil && h.Shard.By == ShardBlocks }
