package cli

import (
	"errors"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
)

// ExperimentUsage is Usage, also for a wrong name, file or recipe of an experiment.
func ExperimentUsage(err error) error {
	var unknown *recipe.UnknownError
	var file *recipe.FileError
	var start *plan.StartError
	if errors.As(err, &unknown) || errors.As(err, &file) || errors.As(err, &start) {
		return UsageError{err}
	}
	return Usage(err)
}

// Tier adds --tier.
func (f *Flags) Tier(p *string, usage string) {
	f.Named(p, "tier", "", usage+": fast (a test), cpu (two cores), small, medium or paper (as in the papers); "+
		"see certspec experiment list tiers", func() []string { return names(recipe.Tiers) })
}

// Add adds --add, for files of recipes, tables and rows.
func (f *Flags) Add(p *[]string) {
	f.StringArrayVar(p, "add", nil, "YAML file of further recipes, tables and rows; may be given several times")
	f.completed["add"] = paths(false, "yaml", "yml")
}

// Recipe adds --recipe.
func (f *Flags) Recipe(p *string, usage string) {
	f.Named(p, "recipe", "", usage, func() []string { return names(recipe.Recipes) })
}

func names(kind string) []string {
	l, err := recipe.Open()
	if err != nil {
		return nil
	}
	return l.Names(kind)
}
