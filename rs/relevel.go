package rs

import (
	"fmt"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// OpenAt reads the run that a ledger records, with the claims that its counts prove at the level alpha per image. This
// alpha replaces the level of the run. For N images, take the N-th part of that level. By the union bound all claims
// are then true together with the probability that the ledger gives to each. Selection, looks and their samples do not
// depend on the level at which bounds are derived. So every look keeps its share of it, and a betting test its
// time-uniform wealth, now against 1/alpha. The header has the new levels.
//
// Errors: those of Open; an alpha that is not in (0, the ledger's α], as *rule.OptionError; a ledger of
// a shard by blocks, which proves nothing alone.
func OpenAt(path string, alpha float64) (*Run, error) {
	run, err := Open(path)
	if err != nil {
		return nil, err
	}
	h := &run.Header
	if h.Shard != nil && h.Shard.By == ledger.ShardBlocks {
		return nil, fmt.Errorf("rs: ledger %s is a shard by blocks: merge the shards first", path)
	}
	scan, err := ledgerio.Scan(path)
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	plan, err := stopping.Of(*h)
	if err != nil {
		return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
	}
	if plan, err = plan.At(alpha); err != nil {
		return nil, err
	}
	h.Alpha, h.Rule = alpha, plan.Header()
	i := 0
	for looks, err := range scan.Images() {
		if err != nil {
			return nil, err
		}
		if i == len(run.Rows) {
			break // not decided
		}
		row := &run.Rows[i]
		if row.Outcome, err = plan.Judge(looks); err != nil {
			return nil, fmt.Errorf("rs: ledger %s: image %d: %w", path, row.Image, err)
		}
		i++
	}
	return run, nil
}
