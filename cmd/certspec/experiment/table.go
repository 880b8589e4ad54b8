package experiment

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/table"
)

// tableOptions holds the values of the flags of "experiment table".
type tableOptions struct {
	bootstrap resample.Options
	published bool
	left      bool
	claims    bool
	files     []string
	figure    string
	severity  int
	radius    float64
	beside    []string
	table     cli.TableOptions
	json      *bool
}

func tableCommand() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table FOLDER [TABLE] [--figure NAME]",
		Short: "Print a table, or draw a figure, from the results in a folder",
		Long: `Print a table with the numbers that a folder holds so far: average certified radii, the main figures
with intervals and paired differences, certified calibration, attacks. What is not there yet is –. The
caption names tier, data, samples and engines, and whether published files of corrupted images or our
own were used. It needs manifest.json and results alone. With --left, print what is done and what is
left. With --claims, judge the claims of the table instead, a table for each family: values of ours and of
the paper, and verdicts for these networks and over starts with the intervals that they follow from; of
fridovich2022/table1 and table2 a file of models, as certspec lines reads it, may stand for the folder. With
--figure, draw to --out, and print the numbers of the picture:

groups        average certified radius, clean and by frequency group, at one severity (figure 4 of Sun et al.)
heatmaps      average certified radius of images disturbed at one frequency, a map a row (figures 3 and 5)
best-changes  how certified accuracy and the largest calibration error differ from those of the network that
              training began with, where that is the best at the radius (figure 4 of Emde et al. 2025)
changes       the same, whichever network training began with (figures 17 and 18)
correlations  rank correlations of accuracy, radius and errors over all models, by radius (figure 19)
costs         certified accuracy of corrupted images over passes of training, also of the tables of --beside`,
		Example: "  certspec experiment table out/A sun2021/table2 -o table2.tex\n" +
			"  certspec experiment table notebooks/results/experiments/A sun2021/table2 --figure groups --out g.svg\n" +
			"  certspec experiment table notebooks/results/experiments/A-evidence sun2021/table2 --claims\n" +
			"  certspec experiment table out/A --left",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.left, "left", false, "print what is done and what is left of all tables of the folder")
		f.BoolVar(&o.published, "published", false,
			"also the published figures, where the built-in table has them, beside those of the folder")
		f.BoolVar(&o.claims, "claims", false, "judge the claims of the table, family by family, instead")
		f.Add(&o.files)
		cli.Choice(f, &o.figure, "figure", "", "draw this instead", changes, bestChanges,
			correlations, groups, heatMaps, costs)
		f.IntVar(&o.severity, "severity", 5, "of --figure groups: severity of the corruptions")
		f.Float64Var(&o.radius, "radius", 0.25, "of --figure costs: radius of certified accuracy")
		f.StringArrayVar(&o.beside, "beside", nil,
			"of --figure costs: another table, as FOLDER=TABLE; may be given several times")
		f.BootstrapFlags(&o.bootstrap)
	})
	o.table.Drawn = cli.FigureForms
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "claims", "figure", "published", "left", "out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *tableOptions) run(cmd *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return cli.Usagef("%s wants a folder, and the name of a table where it has several", cmd.CommandPath())
	}
	if err := cli.CheckBootstrap(o.bootstrap); err != nil {
		return err
	}
	switch changed := cmd.Flags().Changed; {
	case o.claims && (o.left || o.published):
		return cli.Usagef("--claims with --left or --published: expected one of them")
	case changed("add") && !o.claims:
		return cli.Usagef("--add goes with --claims")
	}
	if o.left && o.figure == "" {
		if len(args) != 1 {
			return cli.Usagef("--left is of all tables of a folder; leave out %s", args[1])
		}
		return left(cmd, args[0], *o.json)
	}
	name := ""
	if len(args) == 2 {
		name = args[1]
	}
	switch {
	case o.figure != "":
		return o.draw(cmd, args[0], name)
	case cli.IsDrawing(o.table.Out):
		return cli.Usagef("--out %s: a picture needs --figure; a table ends in .md, .tex, .csv, .html or .txt", o.table.Out)
	case cmd.Flags().Changed("severity"):
		return cli.Usagef("--severity goes with --figure groups")
	case cmd.Flags().Changed("beside") || cmd.Flags().Changed("radius"):
		return cli.Usagef("--beside and --radius go with --figure %s", costs)
	}
	if o.claims {
		return o.judge(cmd, args[0], name)
	}
	filled, err := results.Fill(cmd.Context(), args[0], name, o.bootstrap)
	if err != nil {
		return cli.Usage(err)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), filled)
	}
	tables := filled.Tables()
	if o.published {
		beside, err := publishedBeside(filled)
		if err != nil {
			return err
		}
		tables = append(tables, beside)
	}
	return o.table.Write(cmd, tables...)
}

// judge prints the claims of a table, judged by family.
func (o *tableOptions) judge(cmd *cobra.Command, folder, name string) error {
	l, err := openLibrary(o.files)
	if err != nil {
		return err
	}
	if name == "" {
		m, err := store.ReadManifest(folder)
		if err != nil {
			return cli.Usage(err)
		}
		t, err := m.Table("")
		if err != nil {
			return cli.Usage(err)
		}
		name = t.Name
	}
	families, err := claims.Judge(cmd.Context(), l, folder, name, o.bootstrap)
	if err != nil {
		return cli.Usage(err)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), families)
	}
	tables := claims.Tables(l, name, families)
	if len(tables) == 0 {
		return cli.Usagef("%s has no results yet of what %s claims; certspec experiment table %[1]s --left says what is left",
			folder, name)
	}
	return o.table.Write(cmd, tables...)
}

// publishedBeside are the figures that the built-in table of a name has.
func publishedBeside(filled *results.Filled) (*table.Table, error) {
	library, err := recipe.Open()
	if err != nil {
		return nil, err
	}
	built, err := library.Table(filled.Name)
	if err != nil || built.Published == nil {
		return nil, cli.Usagef("--published: there are no published figures for %s here", filled.Name)
	}
	return filled.Beside(built.Published), nil
}
