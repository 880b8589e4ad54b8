package rs

import (
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// Shard is a part of a run, done in a ledger of its own. The ledgers of all parts merge into the bytes of the whole
// run. The zero Shard is the whole run.
//
// By images, for every rule, shard i of n has the images whose position in the data is i modulo n. By blocks, it has
// the blocks ⌊i·B/n⌋ to ⌊(i+1)·B/n⌋ of each image's B blocks, those of the selection first. This is for few images of
// many samples, under the rule Fixed alone. It then proves nothing by itself, and its run has no rows.
type Shard = ledger.Shard

// shardHeader is a shard as the ledger's header has it; nil for the whole run.
func shardHeader(s Shard) (*ledger.Shard, error) {
	if s == (Shard{}) {
		return nil, nil
	}
	if s.By == "" {
		s.By = ledger.ShardImages
	}
	switch {
	case s.By != ledger.ShardImages && s.By != ledger.ShardBlocks:
		return nil, optionErrorf("Shard is by %q, want %q or %q", s.By, ledger.ShardImages, ledger.ShardBlocks)
	case s.Count < 1 || s.Index < 0 || s.Index >= s.Count:
		return nil, optionErrorf("Shard is %d of %d, counted from 0", s.Index, s.Count)
	}
	return &s, nil
}

func byBlocks(h ledger.Header) bool { return h.Shard != nil && h.Shard.By == ledger.ShardBlocks }

// shareOf is the number of images of a shard; all where there is none or it is by blocks.
func shareOf(s *ledger.Shard, images int) int {
	if s == nil || s.By == ledger.ShardBlocks {
		return images
	}
	return (images - s.Index + s.Count - 1) / s.Count
}

// shardOf gives the images and the plan of a shard.
func shardOf(s *ledger.Shard, images *imageset.Index, plan *stopping.Plan) (*imageset.Index, *stopping.Plan, error) {
	if s == nil {
		return images, plan, nil
	}
	if s.By == ledger.ShardBlocks {
		plan, err := plan.Part(*s)
		return images, plan, err
	}
	if s.Index >= images.Len() {
		return nil, nil, optionErrorf("Shard is %d of %d, but data %s has %d images: the shard would be empty", s.Index,
			s.Count, images.Name, images.Len())
	}
	var places []int
	for i := s.Index; i < images.Len(); i += s.Count {
		places = append(places, i)
	}
	return images.Take(places), plan, nil
}
