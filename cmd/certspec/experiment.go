package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/experiment"
)

func init() { verbs = append(verbs, experimentCommand) }

func experimentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiment",
		Short: "Make the tables of a paper: train, adapt, certify and attack, resumable",
		Long: `Make the tables of a paper. A recipe says how a network is trained, a tier how much of it is done, a table which
recipes stand side by side and what is measured. Those of two papers are built in; --add reads a file of further ones, in the
form that certspec experiment show prints.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(experimentListCommand(), experimentShowCommand(), experimentRunCommand(), experimentStatusCommand(), experimentTableCommand(), experimentMergeCommand())
	return cmd
}

// addFlag adds --add, for files of recipes, tables and rows.
func addFlag(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "add", nil, "YAML file of further recipes, tables and rows; may be given several times")
}

// placesFlag adds --data, which says where data lie. The function reads it.
func placesFlag(cmd *cobra.Command) func() (map[string]string, error) {
	list := cmd.Flags().StringArray("data", nil, "where data of a kind lie, as in cifar10=cifar10-jpeg or imagenet=folder:/data/imagenet (with train and val below); cifar10-c=FOLDER takes the published corrupted images; may be given several times")
	return func() (map[string]string, error) {
		places := map[string]string{}
		for _, text := range *list {
			kind, place, found := strings.Cut(text, "=")
			if !found || kind == "" || place == "" {
				return nil, usagef("--data %q: expected KIND=PLACE, as in cifar10=cifar10-jpeg", text)
			}
			if _, twice := places[kind]; twice {
				return nil, usagef("--data: %s is there twice", kind)
			}
			places[kind] = place
		}
		return places, nil
	}
}

// tierFlag adds --tier.
func tierFlag(cmd *cobra.Command, standard string) *string {
	return cmd.Flags().String("tier", standard, "how much is done: T0 (a test), cpu (two cores), T1 (small), T2 (medium) or T3 (as in the papers); see certspec experiment list tiers")
}

func experimentMergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "merge FOLDER…",
		Short:   "Join the folders of shards",
		Long:    "Join the folders that certspec experiment run --shard filled into one. What several of them hold must be equal.",
		Example: "  certspec experiment merge out/part0 out/part1 --out out/table2",
	}
	cmd.Flags().StringVar(&out, "out", "", "folder to join them in")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, folders []string) error {
		if err := needed(cmd, "out"); err != nil {
			return err
		}
		if len(folders) == 0 {
			return usagef("%s wants at least one folder", cmd.CommandPath())
		}
		added, err := experiment.Merge(out, folders)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]int{"folders": len(folders), "files": added})
		}
		cmd.Printf("%d files of %d folders in %s\n", added, len(folders), out)
		return nil
	}
	return cmd
}
