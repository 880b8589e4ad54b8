package train

import (
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/run"
)

// recipeOptions name a recipe.
type recipeOptions struct {
	plan.Options
	name, soft string
}

func (o *recipeOptions) flags(f *cli.Flags) {
	f.Recipe(&o.name, "train by this recipe, e.g. sun2021/c10/fm-hcr, at a --tier; see certspec experiment list. The "+
		"recipe says the rest, but for output, seed, engine, and in --data where its data lie")
	f.Tier(&o.Tier, "with --recipe: how much is done")
	f.Add(&o.Add)
}

// train trains by the recipe.
func (o *recipeOptions) train(cmd *cobra.Command, out, data, engine string) (*modelfile.Card, error) {
	f := cmd.Flags()
	var other error
	f.Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"recipe", "tier", "add", "out", "seed", "data", "soft", "engine", "diagnose",
			"json"}, flag.Name) {
			other = cli.Usagef("--%s with --recipe: the recipe says it; certspec experiment list %s prints it, and "+
				"--add reads one of your own", flag.Name, o.name)
		}
	})
	switch {
	case other != nil:
		return nil, other
	case o.Tier == "":
		return nil, cli.Usagef("--recipe without --tier: %s", f.Lookup("tier").Usage)
	case out == "":
		return nil, cli.Usagef("--out is missing: the path of the model file")
	}
	o.Training, o.Program, o.Command = engine, cli.Version(), cli.CommandLine(os.Args[1:])
	o.Progress = cli.Progress()
	var seed *uint64
	if f.Changed("seed") {
		// whatever kind of flag the recipe makes of it
		v, err := strconv.ParseUint(f.Lookup("seed").Value.String(), 10, 64)
		if err != nil {
			return nil, err
		}
		seed = &v
	}
	if data != "" || o.soft != "" {
		kind, err := o.Options.KindOf(o.name)
		if err != nil {
			return nil, cli.ExperimentUsage(err)
		}
		o.Places = map[string]string{}
		for kind, at := range map[string]string{kind: data, kind + "-soft": o.soft} {
			if at != "" {
				o.Places[kind] = at
			}
		}
	}
	card, err := run.TrainRecipe(cmd.Context(), o.name, seed, out, o.Options)
	return card, cli.ExperimentUsage(err)
}
