package experiment

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/experiment"
	"github.com/certspec/certspec/internal/nearest"
)

// listed is a name with what it is.
type listed struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

func listCommand() *cobra.Command {
	kinds := []string{experiment.Tables, experiment.Tiers, experiment.Recipes}
	var files []string
	cmd := &cobra.Command{
		Use:       "list [tables|tiers|recipes]",
		Short:     "List the tables, tiers and recipes",
		Example:   "  certspec experiment list tables",
		ValidArgs: kinds,
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) { f.Add(&files) })
	asJSON := cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := openLibrary(files)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			if len(args) > 1 || !slices.Contains(kinds, args[0]) {
				return cli.Usagef("%q: expected %s%s", strings.Join(args, " "), cli.List(kinds), nearest.DidYouMean(args[0], kinds))
			}
			kinds = args
		}
		all := []listed{}
		for _, kind := range kinds {
			for _, name := range l.Names(kind) {
				title, err := titleOf(l, kind, name)
				if err != nil {
					return err
				}
				all = append(all, listed{kind, name, title})
			}
		}
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), all)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for i, one := range all {
			if i == 0 || all[i-1].Kind != one.Kind {
				if i > 0 {
					fmt.Fprintln(w)
				}
				cli.Fprintf(w, "%s\n", one.Kind)
			}
			cli.Fprintf(w, "  %s\t%s\n", one.Name, one.Title)
		}
		return w.Flush()
	}
	return cmd
}

func openLibrary(files []string) (*experiment.Library, error) {
	l, err := experiment.Open()
	for _, file := range files {
		if err == nil {
			_, err = l.Add(file)
		}
	}
	return l, cli.ExperimentUsage(err)
}

func titleOf(l *experiment.Library, kind, name string) (string, error) {
	switch kind {
	case experiment.Tables:
		t, err := l.Table(name)
		return t.Title, err
	case experiment.Tiers:
		t, err := l.Tier(name)
		return t.Title, err
	}
	r, err := l.Recipe(name)
	return r.Title, err
}

// showOptions are what the flags of "experiment show" ask.
type showOptions struct {
	files  []string
	places places
	tier   string
}

func showCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a recipe, a tier or a table with what it inherits; with --tier, the models of a recipe",
		Long: `Show a recipe, a tier or a table as YAML, with what it inherits. With --tier, what becomes of a recipe at that tier: the models,
of each seed and each point of its grid one, with all numbers filled in, as JSON.`,
		Example: "  certspec experiment show A/c10/fm-hcr\n  certspec experiment show A/c10/fm-hcr --tier cpu",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Tier(&o.tier, "show the models of a recipe at this tier")
		f.Add(&o.files)
	})
	cli.Group(cmd, cli.Data, o.places.flag)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *showOptions) run(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("%s wants one name; certspec experiment list shows them", cmd.CommandPath())
	}
	if o.tier != "" {
		at, err := o.places.read()
		if err != nil {
			return err
		}
		s, _, err := experiment.Options{Tier: o.tier, Add: o.files, Places: at}.Setup()
		if err != nil {
			return cli.ExperimentUsage(err)
		}
		models, err := s.Models(args[0])
		if err != nil {
			return cli.ExperimentUsage(err)
		}
		return cli.PrintJSON(cmd.OutOrStdout(), models)
	}
	l, err := openLibrary(o.files)
	if err != nil {
		return err
	}
	text, err := l.Show(args[0])
	if err != nil {
		return cli.ExperimentUsage(err)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}
