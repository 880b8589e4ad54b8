package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/preflight"
	"github.com/certspec/certspec/rs/sweep"
)

// swept is what "sweep run" prints.
type swept struct {
	Folder   string   `json:"folder"`
	Cells    []string `json:"cells"`
	Warnings []string `json:"warnings,omitempty"`
}

func sweepRunCommand() *cobra.Command {
	var o sweep.Options
	cmd := &cobra.Command{
		Use:   "run {--model PATH | --exec COMMAND} --data NAME --sigma S --out FOLDER [flags]",
		Short: "Certify a data set under corruptions, a ledger for each",
		Long: `Certify a data set under each of many corruptions and severities, by randomized smoothing as certspec certify does, and as it is:
FOLDER/fog-3.ledger and so on, and FOLDER/clean.ledger. Images are corrupted when they are read, to the bytes of certspec corrupt make.

What is done is not done again: the same command goes on after an interruption, and one with more corruptions adds their
ledgers. certspec sweep table reads the folder.`,
		Example: "  certspec sweep run --model notebooks/models/cifar10-resnet20-s025 --data cifar10/test --skip 100 --severity 1,3,5 --sigma 0.25 --n 10000 --out out/resnet20-C\n" +
			"  certspec sweep run --model notebooks/models/cifar10-resnet20-s025 --data cifar10/test --skip 100 --corrupt Low,pixelate --sigma 0.25 --out out/low",
		Args: noArgs,
	}
	var rule string
	f := cmd.Flags()
	openClassifier, openImages := modelFlags(cmd), dataFlags(cmd)
	cellsOf := cellFlags(cmd)
	settings := settingsFlags(cmd, &o.Run)
	f.StringVar(&rule, "rule", string(rs.Staged), "how many copies an image gets: staged, fixed, iss or betting; see certspec certify")
	f.Float64SliceVar(&o.Run.Radii, "radii", nil, "of the rule betting: the radii that are tested")
	f.Uint64Var(&o.Run.Seed, "seed", 0, "of the noise (default derived from model, data and settings)")
	f.Uint64Var(&o.CorruptSeed, "corrupt-seed", 0, "of the corruptions")
	f.StringVar(&o.Folder, "out", "", "folder for the ledgers")
	list := f.Bool("list", false, "print the names of the ledgers, and certify nothing")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := needed(cmd, "data", "sigma", "out"); err != nil {
			return err
		}
		if err := settings(); err != nil {
			return err
		}
		o.Run.Rule = rs.Rule(rule)
		if err := checkRadii(o.Run.Radii); err != nil {
			return err
		}
		if _, err := o.Run.Plan(); err != nil {
			return usageOf(err)
		}
		cells, err := cellsOf()
		if err != nil {
			return err
		}
		done := swept{Folder: o.Folder, Cells: []string{}}
		for _, cell := range cells {
			done.Cells = append(done.Cells, cell.String())
		}
		if *list {
			return done.print(cmd, *asJSON)
		}
		images, err := openImages()
		if err != nil {
			return err
		}
		m, end, err := openClassifier()
		if err != nil {
			return err
		}
		defer end()
		loaded, err := images.Load(cmd.Context())
		if err != nil {
			return err
		}
		checked := false
		o.Before = func(sweep.Cell) error {
			if checked {
				return nil
			}
			checked = true
			_, err := lookFirst(cmd.Context(), m, loaded, preflight.UseOf(o.Run))
			return err
		}
		o.Warn = func(text string) {
			say("warning: %s", text)
			done.Warnings = append(done.Warnings, text)
		}
		at := 0
		bar := terminalProgress()
		o.Run.Progress = func(s progress.State) {
			s.Task = fmt.Sprintf("%d of %d: %s", at+1, len(cells), s.Task)
			bar(s)
			if s.Final {
				at++
			}
		}
		if err := sweep.Run(cmd.Context(), m, images, cells, o); err != nil {
			return corruptUsage(usageOf(err))
		}
		return done.print(cmd, *asJSON)
	}
	return cmd
}

func (s *swept) print(cmd *cobra.Command, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), s)
	}
	for _, cell := range s.Cells {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s/%s.ledger\n", s.Folder, cell); err != nil {
			return err
		}
	}
	return nil
}
