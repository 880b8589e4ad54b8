// Package sweep is "certspec sweep".
package sweep

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
)

type swept struct {
	Folder   string   `json:"folder"`
	Cells    []string `json:"cells"`
	Warnings []string `json:"warnings,omitempty"`
}

// options holds the values of the flags.
type options struct {
	sweep.Options
	run   rs.Options
	input cli.InputOptions
	cells cellOptions
	list  bool
	json  *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "sweep {MODEL | --exec COMMAND} --data NAME --sigma S --out FOLDER [flags]",
		Short: "Certify a data set, clean and under each corruption",
		Long: `Certify a data set under each of many corruptions and severities, by randomized smoothing as
certspec certify does, and as it is:
FOLDER/fog-3.ledger and so on, and FOLDER/clean.ledger. Images are corrupted when they are read, to the bytes
of certspec corrupt make.

The same command with more corruptions adds their ledgers. certspec ledger metrics reads the folder.`,
		Example: "  certspec sweep notebooks/models/cifar10-resnet20-s025 --data cifar10/test --skip " +
			"100 --severity 1,3,5 --sigma 0.25 --n 10000 --out out/resnet20-C\n" +
			"  certspec sweep notebooks/models/cifar10-resnet20-s025 --data cifar10/test --skip 100 " +
			"--corrupt Low,pixelate --sigma 0.25 --out out/low",
		Args: cli.OneModel,
	}

	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		o.cells.flags(f)
		f.Uint64Var(&o.CorruptSeed, "corrupt-seed", 0, "seed of the corruptions")
	})
	cli.RunFlags(cmd, &o.run)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Floats(&o.run.Radii, "radii", nil, "for the rule betting: radii to test")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.OutFolder(&o.Folder, "folder for the ledgers")
		f.BoolVar(&o.list, "list", false, "print the names of the ledgers, and certify nothing")
	})
	cli.Records(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "corrupt", "sigma", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.certify(cmd) }
	return cmd
}

func (o *options) certify(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "data", "sigma", "out"); err != nil {
		return err
	}
	if err := cli.CheckRun(cmd); err != nil {
		return err
	}
	if err := cli.CheckRadii(o.run.Radii); err != nil {
		return err
	}
	if _, err := o.run.Plan(); err != nil {
		return cli.Usage(err)
	}
	cells, err := o.cells.cells()
	if err != nil {
		return err
	}
	done := swept{Folder: o.Folder, Cells: []string{}}
	for _, cell := range cells {
		done.Cells = append(done.Cells, cell.String())
	}
	if o.list {
		return done.print(cmd, *o.json)
	}
	o.input.Images.Recorded = o.Folder
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	var first *preflight.First
	flat.Copy(&o.Options, o.run)
	o.Before = func(ctx context.Context, _ sweep.Cell) (context.Context, error) {
		if first == nil {
			loaded, err := in.Some(ctx, rs.Shard{})
			if err != nil {
				return nil, err
			}
			use := preflight.UseOf(o.run)
			use.Each *= len(cells)
			if first, err = cli.LookFirst(ctx, in.Model, loaded, use); err != nil {
				return nil, err
			}
		}
		return first.Witness.With(ctx), nil
	}
	at := 0
	bar := cli.Progress()
	o.Progress = func(s progress.State) {
		if s.Message != "" {
			done.Warnings = append(done.Warnings, strings.TrimPrefix(s.Message, "warning: "))
		}
		s.Task = fmt.Sprintf("%d of %d: %s", at+1, len(cells), s.Task)
		bar(s)
		if s.Final {
			at++
		}
	}
	if err := sweep.Run(cmd.Context(), in.Model, in.Data, cells, o.Options); err != nil {
		return cli.Usage(err)
	}
	return done.print(cmd, *o.json)
}

func (s *swept) print(cmd *cobra.Command, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), s)
	}
	for _, cell := range s.Cells {
		if _, err := cli.Fprintf(cmd.OutOrStdout(), "%s/%s.ledger\n", s.Folder, cell); err != nil {
			return err
		}
	}
	return nil
}

// cellOptions name corruptions and strengths.
type cellOptions struct {
	words      []string
	severities []int
	clean      bool
	variants   cli.CorruptVariants
}

func (o *cellOptions) flags(f *cli.Flags) {
	f.Words(&o.words, "corrupt", []string{string(corrupt.C)},
		"corruptions by name, family or group: fog, C, C-extra, C-bar, F, Low, Mid, High, all", cli.CorruptionWords)
	f.Ints(&o.severities, "severity", nil, "1 to 5, of F the norms 8, 10 and 12 (default all)")
	f.BoolVar(&o.clean, "clean", true, "the images as they are, too")
	o.variants.Flags(f)
}

// cells lists the cells.
func (o *cellOptions) cells() ([]sweep.Cell, error) {
	cells, err := cli.Cells(o.words, o.severities, o.variants.Setting)
	if err == nil && o.clean {
		cells = append([]sweep.Cell{{}}, cells...)
	}
	return cells, err
}
