package ood

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/ood"
)

// attackOptions holds the values of the flags.
type attackOptions struct {
	runOptions
	ood.AttackOptions
}

func attack() *cobra.Command {
	var o attackOptions
	cmd := &cobra.Command{
		Use:   "attack MODEL --data NAME --eps E --out FILE",
		Short: "Search for the most confident point in a ball around each image",
		Long: `Search for the most confident point in the ball |z − x| ≤ eps around each image of a set.

It is a lower bound on the worst case, where certspec ood bound gives an upper one. The attacks are

  apgd        Auto-PGD, from noise around the image (Croce and Hein 2020)
  contrast    monotone PGD from the corner with the most contrast
  monotone    monotone PGD from the image, and from its pull towards the mean image of the set
  targeted    Auto-PGD towards each class: plain ascent follows the class that leads at the start
  noise       monotone PGD from four starts in uniform noise within the ball and four in Gaussian noise of 10⁻⁴
  transfer    monotone PGD from the best points of other networks for the same images, files of --transfer

(Bitterwolf, Meinke and Hein 2020, appendix A.) An image's result is the most of all, the image itself
included, by the network in float64; it depends on the image, the mean image, the points given and the seed alone.`,
		Example: "  certspec ood attack net.onnx --data mnist/test[count=1000] --eps 0.1 --points " +
			"out/net.npy --out out/mnist-adv.ood\n" +
			"  certspec ood attack other.onnx --data mnist/test[count=1000] --eps 0.1 --transfer " +
			"out/net.npy --out out/other-adv.ood",
		Args: cli.OneModel,
	}
	o.flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Words(&o.Attacks, "attacks", ood.Attacks[:len(ood.Attacks)-1], "attacks to run",
			func() []string { return ood.Attacks })
		f.IntVar(&o.Steps, "steps", 500, "steps of Auto-PGD")
		f.IntVar(&o.Restarts, "restarts", 5, "starts of Auto-PGD")
		f.Float64Var(&o.Near, "near", 0,
			"half-width of the noise of its starts, as the papers take 0.01 on MNIST; 0: to the edge of the ball")
		f.IntVar(&o.Monotone, "monotone-steps", 200, "steps of monotone PGD")
		f.Words(&o.Transfer, "transfer", nil, "points of other networks, .npy files of --points", nil)
		f.IntVar(&o.BestTransfer, "best-transfer", 0,
			"maximum number of those points to begin with for each image, the ones that the network is most sure "+
				"of; 0: all")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the noise of starts")
	})
	o.outputFlags(cmd)
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Written(&o.Points, "points", ".npy file that keeps the best points, for transfer", ".npy")
	})
	cli.First(cmd, "model", "data", "eps", "attacks", "out")
	cli.Records(cmd, "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *attackOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "eps"); err != nil {
		return err
	}
	for _, name := range o.Attacks {
		switch {
		case name == "transfer":
			return cli.Usagef("--attacks transfer: name the points of other networks with --transfer, and it runs")
		case !slices.Contains(ood.Attacks, name):
			return cli.Usagef("--attacks %s: expected some of %s", name, list(ood.Attacks))
		}
	}
	if err := cli.NotZero(cmd, "eps", "steps", "restarts", "monotone-steps"); err != nil {
		return err
	}
	n, images, run, err := o.open(cmd)
	if err != nil {
		return err
	}
	if o.Transfer, err = matches(o.Transfer); err != nil {
		return err
	}
	o.Epsilon, o.File, o.Shard, o.Name, o.Trained = o.epsilon, run.File, run.Shard, run.Name, run.Trained
	o.Program, o.Progress = run.Program, run.Progress
	m, err := ood.Attack(cmd.Context(), n, images, o.AttackOptions)
	if err != nil {
		return wrongSize(err)
	}
	if *o.json {
		return printLines(cmd.OutOrStdout(), m)
	}
	return errors.Join(printRun(cmd.OutOrStdout(), m), notNumbers(m))
}

// matches are the files that patterns such as out/*.npy name, where the shell has not. The first
// network attacked has none to name.
func matches(patterns []string) ([]string, error) {
	var files []string
	for _, p := range patterns {
		if !strings.ContainsAny(p, "*?[") {
			files = append(files, p)
			continue
		}
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, cli.Usagef("--transfer %s: %v", p, err)
		}
		if len(found) == 0 {
			cli.Say("warning: --transfer %s: no such file yet; nothing is transferred", p)
		}
		files = append(files, found...)
	}
	return files, nil
}

func list(words []string) string { return strings.Join(words, ", ") }
