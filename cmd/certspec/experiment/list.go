package experiment

import (
	"fmt"
	"slices"
	"strings"

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

// listOptions are what the flags of "experiment list" ask.
type listOptions struct {
	files  []string
	places places
	tier   string
	json   *bool
}

var kinds = []string{experiment.Tables, experiment.Tiers, experiment.Recipes}

func listCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [tables|tiers|recipes|NAME]",
		Short: "List the tables, tiers and recipes, or show one of them",
		Long: `List the tables, tiers and recipes. With the name of one, show it as YAML, with what it inherits.
With the name
of a recipe and --tier, show what becomes of it at that tier: the models, one for each seed and each point of its
grid, with all numbers filled in, as JSON.`,
		Example: "  certspec experiment list tables\n  certspec experiment list A/c10/fm-hcr\n" +
			"  certspec experiment list A/c10/fm-hcr --tier cpu",
		ValidArgs: kinds,
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Tier(&o.tier, "show the models of a recipe at this tier")
		f.Add(&o.files)
	})
	cli.Group(cmd, cli.Data, o.places.flag)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *listOptions) run(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("%s wants one name, got %q", cmd.CommandPath(), strings.Join(args, " "))
	}
	asked := kinds
	if len(args) == 1 && slices.Contains(kinds, args[0]) {
		asked = args
	} else if len(args) == 1 {
		return o.show(cmd, args[0])
	}
	if o.tier != "" {
		return cli.Usagef("--tier %s: expected the name of a recipe, too", o.tier)
	}
	l, err := openLibrary(o.files)
	if err != nil {
		return err
	}
	all := []listed{}
	for _, kind := range asked {
		for _, name := range l.Names(kind) {
			title, err := titleOf(l, kind, name)
			if err != nil {
				return err
			}
			all = append(all, listed{kind, name, title})
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	w := cli.Columns(cmd.OutOrStdout())
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

// show prints one table, tier or recipe, or the models of a recipe.
func (o *listOptions) show(cmd *cobra.Command, name string) error {
	if o.tier != "" {
		at, err := o.places.read()
		if err != nil {
			return err
		}
		s, _, err := experiment.Options{Tier: o.tier, Add: o.files, Places: at}.Setup()
		if err != nil {
			return cli.ExperimentUsage(err)
		}
		models, err := s.Models(name)
		if err != nil {
			return cli.ExperimentUsage(err)
		}
		return cli.PrintJSON(cmd.OutOrStdout(), models)
	}
	l, err := openLibrary(o.files)
	if err != nil {
		return err
	}
	text, err := l.Show(name)
	if err != nil {
		if near := nearest.DidYouMean(name, kinds); near != "" {
			return cli.Usagef("%q: expected %s, or a name%s", name, cli.List(kinds), near)
		}
		return cli.ExperimentUsage(err)
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}
