package ood

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/ood/smoothed"
	"github.com/certspec/certspec/rs/ledger"
)

// smoothOptions holds the values of the flags of "ood smooth".
type smoothOptions struct {
	in, foreign string
	model       string
	trained     []string
	radii       []float64
	json        *bool
}

func smooth() *cobra.Command {
	var o smoothOptions
	cmd := &cobra.Command{
		Use:   "smooth --in LEDGER --foreign LEDGER --radii R[,R]",
		Short: "Guarantee the AUC of the smoothed network within a Euclidean radius",
		Long: `Bound how sure a network is of an image under Gaussian noise, by randomized smoothing.

Its own images are compared with foreign ones that move within a Euclidean radius. The score is the mean of the
largest class probability over the noise, rescaled from [1/K, 1] to [0, 1]. Own images enter with lower bounds
at their place, foreign ones with upper bounds within the radius. Two certificates bound them: from the mean
of the scores (standard), and from their distribution (CDF). All images of both sides share alpha.

The ledgers are made by certspec certify --keep-scores=top, with one network, sigma and alpha. The smoothed
network and a Euclidean ball are not the network and the box of certspec ood bound. So a smoothed GAUC and the
GAUC of certspec ood auc answer different questions, and do not belong in one column.`,
		Example: "  certspec certify --model models/resnet20 --data cifar10/test --count 200 --sigma 0.25 --n 10000 " +
			"--keep-scores=top --out out/in.ledger\n" +
			"  certspec certify --model models/resnet20 --data noise:smooth,32x32x3 --count 200 --sigma 0.25 --n " +
			"10000 --keep-scores=top --out out/smooth.ledger\n" +
			"  certspec ood smooth --in out/in.ledger --foreign out/smooth.ledger --radii 0,0.1,0.25",
		Args: cli.NoArgs,
	}
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.in, "in", "ledger of the network's own images, with top scores", "ledger")
		f.File(&o.foreign, "foreign", "ledger of foreign images, with top scores", "ledger")
	})
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.Model(&o.model, "the network's file: it says on which data sets the network was trained, which are "+
			"refused as foreign")
		f.Words(&o.trained, "trained", nil, "instead of --model: its training sets", cli.DataNames)
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&o.radii, "radii", nil, "Euclidean radii that foreign images move within, unit: full range of a value")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *smoothOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "in", "foreign", "radii"); err != nil {
		return err
	}
	if err := cli.CheckRadii(o.radii); err != nil {
		return err
	}
	trained, weights, err := o.learnt()
	if err != nil {
		return err
	}
	s, err := smoothed.Compare(cmd.Context(), o.in, o.foreign, o.radii, trained...)
	if err == nil && weights != "" && weights != s.Weights {
		err = fmt.Errorf("--model %s: its weights are %s, those of %s %s", o.model, weights, o.in, s.Weights)
	}
	if err != nil {
		return cli.Usage(err)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), s)
	}
	return printSmoothed(cmd.OutOrStdout(), s)
}

// learnt are the sets that the network was trained on, and the digest of its weights where a card has them.
func (o *smoothOptions) learnt() (sets []ledger.Data, weights string, err error) {
	for _, name := range o.trained {
		sets = append(sets, ledger.Data{Name: name})
	}
	if o.model == "" {
		return sets, "", nil
	}
	m, err := engine.Open(o.model)
	if err != nil {
		return nil, "", err
	}
	defer m.Close()
	if card := m.Card(); card != nil {
		weights = card.Weights
	}
	return append(sets, m.Trained()...), weights, nil
}

func printSmoothed(out io.Writer, s *smoothed.Comparison) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "network\t%s, smoothed with σ = %g\n", s.Model, s.Sigma)
	cli.Fprintf(w, "own\t%s, %d images, mean score %.4f\n", s.In.Data, s.In.Images, s.In.Estimate)
	cli.Fprintf(w, "foreign\t%s, %d images, mean score %.4f\n", s.Foreign.Data, s.Foreign.Images, s.Foreign.Estimate)
	cli.Fprintf(w, "AUC, estimate\t%s\n\n", percent(s.AUC))
	fmt.Fprintln(w, "Euclidean radius\tholds the ℓ∞ ball of\tsmoothed GAUC, standard\tsmoothed cGAUC, "+
		"standard\tsmoothed GAUC, CDF\tsmoothed cGAUC, CDF\tmean upper bound, CDF")
	for _, a := range s.Radii {
		cli.Fprintf(w, "%g\t%.6f\t%s\t%s\t%s\t%s\t%.4f\n", a.Radius, a.LInf, atLeast(a.Standard.GAUC),
			atLeast(a.Standard.CGAUC), atLeast(a.CDF.GAUC), atLeast(a.CDF.CGAUC), up(a.CDF.Upper, 1e4))
	}
	cli.Fprintf(w, "\nall bounds hold at once with probability at least %g; of the smoothed network and Euclidean "+
		"balls, not to be set beside the GAUC of certspec ood auc\n", 1-s.Alpha)
	for _, warning := range s.Warnings {
		cli.Fprintf(w, "note\t%s\n", warning)
	}
	return w.Flush()
}
