// Package ood is "certspec ood".
package ood

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("ood", "Detect foreign images, with guarantees over boxes of inputs",
		`Bound how sure a network can become when a foreign image moves in a box, attack it there, and compare with
the network's own images; decide properties of it. Bounds hold in exact arithmetic and for
the network's evaluation in float32.`,
		bound(), attack(), auc(), smooth(), property())
}

// runOptions are the flags that bounds and attacks have in common.
type runOptions struct {
	network cli.NetworkOptions
	images  cli.ImageOptions
	epsilon float64
	shard   string
	out     string
	json    *bool
}

func (o *runOptions) flags(cmd *cobra.Command) {
	o.network.Flags(cmd)
	o.network.TrainedFlag(cmd)
	o.network.UncomparedFlag(cmd)
	o.images.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Float64Var(&o.epsilon, "eps", 0,
			"radius of the ball around an image, |z − x| ≤ eps in every value and 0 ≤ z ≤ 1, in units of the full "+
				"range; 0 for the network's own images")
	})
}

func (o *runOptions) outputFlags(cmd *cobra.Command) {
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file that records the run; without one nothing is kept")
		f.Named(&o.shard, "shard", "",
			"part of the run, i/n with i from 0, or auto, as certspec certify has it; certspec merge joins "+
				"the parts", func() []string { return []string{"auto"} })
	})
	o.json = cli.JSON(cmd)
}

// start opens the images, and fills what runs have in common.
func (o *runOptions) start(cmd *cobra.Command) (images *dataset.Dataset, run ood.Options, err error) {
	if err := cli.Needed(cmd, "model", "data"); err != nil {
		return nil, run, err
	}
	if !(o.epsilon >= 0 && o.epsilon <= 1) {
		return nil, run, cli.Usagef("--eps %v: expected a number from 0 to 1, in units of the full range of a "+
			"value", o.epsilon)
	}
	run = ood.Options{Epsilon: o.epsilon, File: o.out, Name: filepath.Base(o.network.Path), Program: cli.Version(),
		Progress: cli.Progress()}
	if o.shard != "" {
		s, err := cli.ReadShard(o.shard)
		if err != nil {
			return nil, run, err
		}
		if o.out == "" {
			return nil, run, cli.Usagef("--shard without --out: a part of a run is of use where it can be merged")
		}
		run.Shard = &record.Shard{Index: s.Index, Count: s.Count}
	}
	o.images.Recorded = o.out
	images, err = o.images.Open()
	return images, run, err
}

// open opens network and images, and fills what bounds and attacks have in common.
func (o *runOptions) open(cmd *cobra.Command) (*feedforward.Network, *dataset.Dataset, ood.Options, error) {
	images, run, err := o.start(cmd)
	if err != nil {
		return nil, nil, run, err
	}
	m, n, err := o.network.Open()
	if err != nil {
		return nil, nil, run, err
	}
	defer m.Close()
	run.Trained = o.network.Trained(m)
	return n, images, run, nil
}
