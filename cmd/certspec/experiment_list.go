package main

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/experiment"
)

// experimentUsage marks a wrong name, file or recipe as a wrong use.
func experimentUsage(err error) error {
	var unknown *experiment.UnknownError
	var file *experiment.FileError
	if errors.As(err, &unknown) || errors.As(err, &file) {
		return usageError{err}
	}
	return usageOf(err)
}

// listed is a name with what it is.
type listed struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

func experimentListCommand() *cobra.Command {
	kinds := []string{experiment.Tables, experiment.Tiers, experiment.Recipes}
	var files []string
	cmd := &cobra.Command{
		Use:     "list [tables|tiers|recipes]",
		Short:   "List the tables, tiers and recipes",
		Example: "  certspec experiment list tables",
		Args:    cobra.MaximumNArgs(1),
	}
	addFlag(cmd, &files)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := openLibrary(files)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			if !slices.Contains(kinds, args[0]) {
				return usagef("%q: expected one of %v", args[0], kinds)
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
			return printJSON(cmd.OutOrStdout(), all)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for i, one := range all {
			if i == 0 || all[i-1].Kind != one.Kind {
				if i > 0 {
					fmt.Fprintln(w)
				}
				fmt.Fprintf(w, "%s\n", one.Kind)
			}
			fmt.Fprintf(w, "  %s\t%s\n", one.Name, one.Title)
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
	return l, experimentUsage(err)
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

func experimentShowCommand() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a recipe, a tier or a table with what it inherits; with --tier, the models of a recipe",
		Long: `Show a recipe, a tier or a table as YAML, with what it inherits. With --tier, what becomes of a recipe at that tier: the models,
of each seed and each point of its grid one, with all numbers filled in, as JSON.`,
		Example: "  certspec experiment show A/c10/fm-hcr\n  certspec experiment show A/c10/fm-hcr --tier cpu",
	}
	addFlag(cmd, &files)
	places := placesFlag(cmd)
	tier := cmd.Flags().String("tier", "", "show the models of a recipe at this tier")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s wants one name; certspec experiment list shows them", cmd.CommandPath())
		}
		if *tier != "" {
			at, err := places()
			if err != nil {
				return err
			}
			s, _, err := experiment.Options{Tier: *tier, Add: files, Places: at}.Setup()
			if err != nil {
				return experimentUsage(err)
			}
			models, err := s.Models(args[0])
			if err != nil {
				return experimentUsage(err)
			}
			return printJSON(cmd.OutOrStdout(), models)
		}
		l, err := openLibrary(files)
		if err != nil {
			return err
		}
		text, err := l.Show(args[0])
		if err != nil {
			return experimentUsage(err)
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), text)
		return err
	}
	return cmd
}
