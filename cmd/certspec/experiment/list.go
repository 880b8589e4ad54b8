package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/nearest"
)

// listed is a name with what it is.
type listed struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

// listOptions holds the values of the flags of "experiment list".
type listOptions struct {
	files  []string
	places places
	tier   string
	json   *bool
}

var kinds = []string{recipe.Tables, recipe.Tiers, recipe.Recipes}

func listCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [PAPER|tables|tiers|recipes|NAME]",
		Short: "List the papers, the tables and recipes of one, the tiers, or show one by name",
		Long: `List the papers. With the name of a paper, list its tables and recipes; with tables, tiers or recipes,
all of that kind. With the name of one, show it as YAML, with what it inherits. With a recipe and --tier, show
what becomes of it at that tier: the models, one for each seed and each point of its grid, with all numbers
filled in, as JSON.`,
		Example: "  certspec experiment list sun2021\n  certspec experiment list sun2021/c10/fm-hcr\n" +
			"  certspec experiment list sun2021/c10/fm-hcr --tier cpu",
		ValidArgs: kinds,
	}
	for _, p := range recipe.Papers() {
		cmd.ValidArgs = append(cmd.ValidArgs, p.Key)
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
	asked, of := kinds, ""
	if len(args) == 1 {
		switch isPaper := func(p recipe.Paper) bool { return p.Key == args[0] }; {
		case slices.Contains(kinds, args[0]):
			asked = args
		case slices.ContainsFunc(recipe.Papers(), isPaper):
			asked, of = []string{recipe.Tables, recipe.Recipes}, args[0]+"/"
		default:
			return o.show(cmd, args[0])
		}
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
			if name = recipe.Spelled(name); kind == recipe.Tiers {
				name = recipe.SpelledTier(name)
			}
			if strings.HasPrefix(name, of) {
				all = append(all, listed{kind, name, title})
			}
		}
	}
	switch {
	case *o.json:
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	case len(args) == 0:
		return papers(cmd, all)
	}
	return print(cmd, all)
}

// papers prints a line for each paper, and the tables of none.
func papers(cmd *cobra.Command, all []listed) error {
	known := []listed{}
	for _, p := range recipe.Papers() {
		tables := 0
		for _, one := range all {
			if one.Kind == recipe.Tables && strings.HasPrefix(one.Name, p.Key+"/") {
				tables++
			}
		}
		known = append(known, listed{"papers", p.Key, fmt.Sprintf("%s (%s), %d tables", p.Title, p.Authors, tables)})
	}
	for _, one := range all {
		key, _, _ := strings.Cut(one.Name, "/")
		of := func(p recipe.Paper) bool { return p.Key == key }
		if one.Kind != recipe.Recipes && !slices.ContainsFunc(recipe.Papers(), of) {
			known = append(known, one)
		}
	}
	if err := print(cmd, known); err != nil {
		return err
	}
	_, err := cli.Fprintf(cmd.OutOrStdout(), "\n%s PAPER lists the tables and recipes of a paper;\n"+
		"certspec experiment run TABLE --tier TIER --dry-run says what a table costs on this machine.\n",
		cmd.CommandPath())
	return err
}

func print(cmd *cobra.Command, all []listed) error {
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

func openLibrary(files []string) (*recipe.Library, error) {
	l, err := recipe.Open()
	for _, file := range files {
		if err == nil {
			_, err = l.Add(file)
		}
	}
	return l, cli.ExperimentUsage(err)
}

func titleOf(l *recipe.Library, kind, name string) (string, error) {
	switch kind {
	case recipe.Tables:
		t, err := l.Table(name)
		return t.Title, err
	case recipe.Tiers:
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
		s, _, err := plan.Options{Tier: o.tier, Add: o.files, Places: at}.Setup()
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
