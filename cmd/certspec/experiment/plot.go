package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/experiment/experimentplot"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/spectral"
)

// Figures that "experiment plot" draws.
const (
	changes      = "changes"
	bestChanges  = "best-changes"
	correlations = "correlations"
	groups       = "groups"
	heatMaps     = "heatmaps"
)

// plotOptions are what the flags of "experiment plot" ask.
type plotOptions struct {
	bootstrap resample.Options
	figure    string
	severity  int
	out       string
	json      *bool
}

func plotCommand() *cobra.Command {
	var o plotOptions
	cmd := &cobra.Command{
		Use:   "plot FOLDER [TABLE] --figure NAME --out FILE",
		Short: "Draw a figure from the results in a folder",
		Long: `Draw what a folder holds of a table so far; it needs manifest.json and results alone. The numbers of
the picture are printed beside it.

groups        average certified radius, clean and by frequency group of corruptions, at one severity
              (figure 4 of Sun et al. 2021)
heatmaps      average certified radius of images disturbed at one frequency, a map for each row
              (figures 3 and 5 there; tables sun2021/figure3, sun2021/figure5)
best-changes  how certified accuracy and the largest calibration error differ from those of the network
              that training began with, where that has the largest certified accuracy at the radius
              (figure 4 of Emde et al. 2025)
changes       the same, whichever network training began with (figures 17 and 18)
correlations  rank correlations of certified accuracy, average certified radius, and the largest errors
              over all models, by radius (figure 19)`,
		Example: "  certspec experiment plot notebooks/results/experiments/A sun2021/table2 --figure groups --out " +
			"groups.svg\n" +
			"  certspec experiment plot notebooks/results/experiments/D-evidence emde2025/table7 --figure changes --out " +
			"changes.pdf\n" +
			"  certspec experiment plot notebooks/results/experiments/D-evidence emde2025/table7 --figure correlations " +
			"--resamples 1000 --out correlations.png",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.figure, "figure", "", "what is drawn", changes, bestChanges, correlations, groups, heatMaps)
		f.IntVar(&o.severity, "severity", 5, "of --figure groups: severity of the corruptions")
		f.BootstrapFlags(&o.bootstrap)
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "file to write: .svg, .png or .pdf") })
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

// picture is one with the numbers behind it.
type picture struct {
	width, height vg.Length
	paint         func(draw.Canvas)
	caption       string
	numbers       any
	columns       []any
	rows          [][]any
}

func (o *plotOptions) run(cmd *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return cli.Usagef("%s wants a folder, and the name of a table where it has several", cmd.CommandPath())
	}
	if err := cli.Needed(cmd, "figure", "out"); err != nil {
		return err
	}
	if err := cli.CheckBootstrap(o.bootstrap); err != nil {
		return err
	}
	if o.severity < 1 || o.severity > 5 {
		return cli.Usagef("--severity %d: expected 1 to 5", o.severity)
	}
	if cmd.Flags().Changed("severity") && o.figure != groups {
		return cli.Usagef("--severity with --figure %s: expected --figure groups", o.figure)
	}
	name := ""
	if len(args) == 2 {
		name = args[1]
	}
	p, err := o.picture(cmd.Context(), args[0], name)
	if err != nil {
		return cli.Usage(err)
	}
	data, err := cli.Drawing("out", o.out, p.caption, p.width, p.height, p.paint)
	if err != nil {
		return err
	}
	if err := cli.WriteOut(cmd, o.out, data); err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), p.numbers)
	}
	w := cli.Columns(cmd.OutOrStdout())
	for _, row := range append([][]any{p.columns}, p.rows...) {
		for i, v := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			if x, ok := v.(float64); ok {
				cli.Fprintf(w, "%.4f", x)
			} else {
				fmt.Fprint(w, v)
			}
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// picture makes the one that is asked for.
func (o *plotOptions) picture(ctx context.Context, folder, name string) (*picture, error) {
	switch title := cmp.Or(name, folder); o.figure {
	case correlations:
		of, err := results.RankCorrelations(ctx, folder, name, o.bootstrap)
		if err != nil {
			return nil, err
		}
		return correlationPicture(title, of)
	case groups:
		of, err := results.ByGroup(ctx, folder, name, o.severity, o.bootstrap)
		if err != nil {
			return nil, err
		}
		return groupPicture(title, of), nil
	}
	none := o.bootstrap
	none.Resamples = 100 // of intervals that are not shown
	filled, err := results.Fill(ctx, folder, name, none)
	if err != nil {
		return nil, err
	}
	if o.figure == heatMaps {
		return mapPicture(filled)
	}
	return changePicture(filled, o.figure == bestChanges)
}

func correlationPicture(title string, of []results.RankCorrelation) (*picture, error) {
	grid, err := experimentplot.Correlations(title, of)
	if err != nil {
		return nil, err
	}
	p := &picture{paint: grid.Paint, caption: "rank correlations over the models of " + title, numbers: of,
		columns: []any{"radius", "figures", "models", "rho", "low", "high"}}
	p.width, p.height = grid.Size()
	for _, c := range of {
		row := []any{fmt.Sprint(c.Radius), c.A + ", " + c.B, c.Models, c.Rho, "–", "–"}
		if c.Interval != nil {
			row[4], row[5] = c.Interval.Low, c.Interval.High
		}
		p.rows = append(p.rows, row)
	}
	return p, nil
}

func groupPicture(title string, of []results.GroupRadius) *picture {
	grid := experimentplot.ByGroup(title, of)
	p := &picture{paint: grid.Paint, caption: "average certified radius clean and by frequency group of corruptions, " +
		title, numbers: of,
		columns: []any{"model", "corruptions", "radius", "low", "high"}}
	p.width, p.height = grid.Size()
	for _, r := range of {
		p.rows = append(p.rows, []any{r.Title, r.Group, r.ACR, r.Interval.Low, r.Interval.High})
	}
	return p
}

func mapPicture(filled *results.Filled) (*picture, error) {
	maps, err := experimentplot.HeatMaps(filled)
	if err != nil {
		return nil, err
	}
	numbers := map[string]*spectral.Map{}
	p := &picture{paint: maps.Paint,
		caption: "average certified radius of images disturbed at one frequency, a map for each model of " +
			filled.Name, numbers: numbers,
		columns: []any{"model", "least", "largest", "mean"}}
	p.width, p.height = maps.Size()
	for _, l := range filled.Lines {
		m := l.HeatMap()
		if m == nil {
			continue
		}
		mean := 0.0
		for _, v := range m.Values {
			mean += v / float64(len(m.Values))
		}
		numbers[l.Title] = m
		p.rows = append(p.rows, []any{l.Title, slices.Min(m.Values), slices.Max(m.Values), mean})
	}
	return p, nil
}

func changePicture(filled *results.Filled, best bool) (*picture, error) {
	grid, err := experimentplot.Changes(filled, best)
	if err != nil {
		return nil, err
	}
	var of []results.Change
	p := &picture{paint: grid.Paint,
		caption: "changes of certified accuracy and of the largest calibration error by further training, by radius",
		columns: []any{"model", "began with", "radius", "certified accuracy", "CCE", "ACCE", "CBS"}}
	p.width, p.height = grid.Size()
	for _, c := range filled.Changes() {
		if c.OfBest || !best {
			of = append(of, c)
			p.rows = append(p.rows, []any{c.Title, c.Start, fmt.Sprint(c.Radius), c.Accuracy, c.CCE, c.ACCE, c.CBS})
		}
	}
	p.numbers = of
	return p, nil
}
