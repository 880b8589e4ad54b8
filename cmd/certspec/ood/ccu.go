package ood

import (
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
)

// ccuOptions are what the flags of "ood ccu" ask.
type ccuOptions struct {
	model  string
	images cli.ImageOptions
	eps    float64
	factor float64
	json   *bool
}

func ccu() *cobra.Command {
	var o ccuOptions
	cmd := &cobra.Command{
		Use:   "ccu --model FILE --data NAME --eps E",
		Short: "What the densities of a CCU network prove around images",
		Long: `Bound the confidence of a network that certspec train --method ccu made, in the ball |z − x| ≤ eps around each image, by its densities alone
(Bitterwolf, Meinke and Hein 2020, equations 13 and 15). The ball lies in one of the metric of the mixtures, whose radius is eps·√(d·λ), λ
the largest eigenvalue of C⁻¹. The paper prints the largest eigenvalue of C in its place, which is no bound; that radius stands beside it. Also
the largest eps for which the confidence stays below factor/K. Bounds are in float64, and not rounded outwards; certspec ood bound gives
intervals of the whole network, which are.`,
		Example: "  certspec ood ccu --model models/ccu --data fashionmnist/test[count=1000] --eps 0.3",
		Args:    cli.NoArgs,
	}
	cli.Group(cmd, cli.Model, func(f *cli.Flags) { f.Model(&o.model, "model file that ccu trained") })
	o.images.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Float64Var(&o.eps, "eps", 0, "radius of the ball around an image, in units of the full range of a value")
		f.Float64Var(&o.factor, "factor", 1.1, "times 1/K is the confidence whose radius is asked for")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "eps", "factor", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *ccuOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "model", "data"); err != nil {
		return err
	}
	if !(o.eps >= 0 && o.eps <= 1) {
		return cli.Usagef("--eps %v: expected a number from 0 to 1, in units of the full range of a value", o.eps)
	}
	m, err := engine.Open(o.model)
	if err != nil {
		return err
	}
	defer m.Close()
	p, err := m.Mixtures()
	if err != nil {
		return err
	}
	if !(o.factor > 1 && o.factor < float64(p.Classes)) {
		return cli.Usagef("--factor %v: expected a number above 1 and below the number of classes, %d", o.factor, p.Classes)
	}
	set, err := o.images.Open()
	if err != nil {
		return err
	}
	images, err := set.Load(cmd.Context())
	if err != nil {
		return err
	}
	if shape := m.Card().Architecture.Shape; images.Shape != shape {
		return cli.Usagef("images of %s are %v, the network takes %v", images.Name, images.Shape, shape)
	}
	r, err := p.Survey(cmd.Context(), images, o.eps, o.factor)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), r)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	cli.Fprintf(w, "images\t%d of %s\n", r.Images, images.Name)
	cli.Fprintf(w, "ball\t|z − x| ≤ %g in every value: within %.6g in the metric of the mixtures (with the eigenvalue that the paper prints: %.6g, no guarantee)\n", r.Epsilon, r.Distance, r.Printed)
	cli.Fprintf(w, "mean bound\t%s, least %.6f\n", atMost(r.Mean), r.Least)
	cli.Fprintf(w, "vacuous bounds\t%s above 0.999\n", percent(r.Vacuous))
	cli.Fprintf(w, "confidence ≤ %g/K\tat %s of the images themselves; around the one in the middle up to eps %.3g\n", r.Factor, atLeast(r.Proven), r.Reach)
	return w.Flush()
}
