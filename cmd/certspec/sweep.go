package main

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs/sweep"
)

func init() { verbs = append(verbs, sweepCommand) }

func sweepCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Certify under many corruptions, and compare what is left",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(sweepRunCommand(), sweepTableCommand())
	return cmd
}

// cellFlags adds the flags that name corruptions and strengths, and gives what lists the cells.
func cellFlags(cmd *cobra.Command) func() ([]sweep.Cell, error) {
	f := cmd.Flags()
	words := f.StringSlice("corrupt", []string{string(corrupt.C)}, "corruptions by name, family or group: fog, C, C-extra, C-bar, F, Low, Mid, High, all")
	severities := f.IntSlice("severity", nil, "1 to 5, of F the norms 8, 10 and 12 (default all)")
	clean := f.Bool("clean", true, "the images as they are, too")
	var options corrupt.Setting
	corruptOptions(cmd, &options)
	return func() ([]sweep.Cell, error) {
		names, err := corruptionNames(*words)
		if err != nil {
			return nil, corruptUsage(err)
		}
		cells, err := sweep.Cells(names, options, *severities)
		if err != nil {
			return nil, corruptUsage(err)
		}
		if *clean {
			cells = append([]sweep.Cell{{}}, cells...)
		}
		return cells, nil
	}
}

// corruptionNames are the corruptions that words name, by themselves or as a family or group; each once, in the order of the words.
func corruptionNames(words []string) ([]string, error) {
	var names []string
	has := map[string]bool{}
	for _, word := range words {
		of, err := corrupt.Names([]string{word})
		if err != nil {
			if _, unknown := corrupt.Find(word); unknown != nil {
				return nil, unknown
			}
			of = []string{word}
		}
		for _, name := range of {
			if !has[name] {
				names = append(names, name)
				has[name] = true
			}
		}
	}
	return names, nil
}
