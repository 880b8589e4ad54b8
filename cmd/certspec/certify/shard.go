package certify

import (
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// shardOptions name a part of a run.
type shardOptions struct{ part, by, look string }

func (o *shardOptions) flags(f *cli.Flags) {
	f.Named(&o.part, "shard", "", "part of the run, i/n with i from 0; auto: from the environment of a Slurm, "+
		"Kubernetes, Grid Engine, HyperQueue or PBS job; auto/n: of n parts, whatever it says of their number",
		func() []string { return []string{"auto", "auto/"} })
	f.Text(&o.look, "look", "file of the look at the model, which all shards share: the first makes it")
	f.Writes("look", "file")
	cli.Choice(f, &o.by, "shard-by", ledger.ShardImages,
		"unit that is split: images, or blocks of each image (of the rule fixed)", ledger.ShardImages,
		ledger.ShardBlocks)
}

// read reads the flags, from the environment of a job where that is asked for.
func (o *shardOptions) read(f *pflag.FlagSet) (rs.Shard, error) {
	if o.part == "" {
		if f.Changed("shard-by") {
			return rs.Shard{}, cli.Usagef("--shard-by %s without --shard", o.by)
		}
		return rs.Shard{}, nil
	}
	s, err := cli.ReadShard(o.part)
	s.By = o.by
	return s, err
}
