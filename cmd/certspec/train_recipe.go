package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// recipeFlags adds --recipe and what goes with it. The function trains by it; it is nil where no recipe is asked for.
func recipeFlags(cmd *cobra.Command) func() func(out, data, engine string) (*modelfile.Card, error) {
	var o experiment.Options
	recipe := cmd.Flags().String("recipe", "", "train by this recipe, e.g. A/c10/fm-hcr, at a --tier; see certspec experiment list. The recipe says the rest, but --out, --seed, --engine, and in --data where its data lie")
	tier := tierFlag(cmd, "")
	addFlag(cmd, &o.Add)
	return func() func(out, data, engine string) (*modelfile.Card, error) {
		if *recipe == "" {
			return nil
		}
		return func(out, data, engine string) (*modelfile.Card, error) {
			f := cmd.Flags()
			var other error
			f.Visit(func(flag *pflag.Flag) {
				if !slices.Contains([]string{"recipe", "tier", "add", "out", "seed", "data", "engine", "json"}, flag.Name) {
					other = usagef("--%s with --recipe: the recipe says it; certspec experiment show %s prints it, and --add reads one of your own", flag.Name, *recipe)
				}
			})
			switch {
			case other != nil:
				return nil, other
			case *tier == "":
				return nil, usagef("--recipe without --tier: %s", f.Lookup("tier").Usage)
			case out == "":
				return nil, usagef("--out is missing: the path of the model file")
			}
			o.Tier, o.Training, o.Program, o.Command = *tier, engine, version(), commandLine(os.Args[1:])
			o.Progress = terminalProgress()
			o.Say = func(message string) { say("certspec: %s", message) }
			var seed *uint64
			if f.Changed("seed") {
				v, err := f.GetUint64("seed")
				if err != nil {
					return nil, err
				}
				seed = &v
			}
			if data != "" {
				kind, err := o.KindOf(*recipe)
				if err != nil {
					return nil, experimentUsage(err)
				}
				o.Places = map[string]string{kind: data}
			}
			card, err := experiment.TrainRecipe(cmd.Context(), *recipe, seed, out, o)
			return card, experimentUsage(err)
		}
	}
}
