package ood

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/gomlxmodels/densities"
)

// densities bounds the confidence of a network that ccu trained by its densities alone.
func (o *boundOptions) densities(cmd *cobra.Command) error {
	for _, name := range []string{"out", "shard", "plain", "trained", "uncompared"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s with --method densities: these bounds are printed, and not recorded", name)
		}
	}
	if err := cli.Needed(cmd, "model", "data"); err != nil {
		return err
	}
	if !(o.epsilon >= 0 && o.epsilon <= 1) {
		return cli.Usagef("--eps %v: expected a number from 0 to 1, in units of the full range of a value", o.epsilon)
	}
	p, card, err := densities.Read(o.network.Path)
	if err != nil {
		return err
	}
	if !(o.factor > 1 && o.factor < float64(p.Classes)) {
		return cli.Usagef("--factor %v: expected a number above 1 and below the number of classes, %d", o.factor,
			p.Classes)
	}
	set, err := o.images.Open()
	if err != nil {
		return err
	}
	images, err := set.Index(cmd.Context(), cli.Progress())
	if err != nil {
		return err
	}
	if shape := card.Architecture.Shape; images.Shape != shape {
		return cli.Usagef("images of %s are %v, the network takes %v", images.Name, images.Shape, shape)
	}
	r, err := p.Survey(cmd.Context(), images, o.epsilon, o.factor)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), r)
	}
	w := cli.Columns(cmd.OutOrStdout())
	cli.Fprintf(w, "images\t%d of %s\n", r.Images, images.Name)
	cli.Fprintf(w, "ball\t|z − x| ≤ %g in every value: within %.6g in the metric of the mixtures (with the "+
		"eigenvalue that the paper prints: %.6g, no guarantee)\n", r.Epsilon, r.Distance, r.Printed)
	cli.Fprintf(w, "mean bound\t%s, least %.6f\n", atMost(r.Mean), r.Least)
	cli.Fprintf(w, "vacuous bounds\t%s above 0.999\n", percent(r.Vacuous))
	cli.Fprintf(w, "confidence ≤ %g/K\tat %s of the images themselves; around the one in the middle up to eps %.3g\n",
		r.Factor, atLeast(r.Proven), r.Reach)
	return w.Flush()
}
