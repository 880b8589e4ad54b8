package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/experiment/experimentplot"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/spectral"
)

// Figures that "experiment table" draws.
const (
	changes      = "changes"
	bestChanges  = "best-changes"
	correlations = "correlations"
	groups       = "groups"
	heatMaps     = "heatmaps"
	costs        = "costs"
)

// picture is one with the numbers behind it.
type picture struct {
	width, height vg.Length
	paint         func(draw.Canvas)
	caption       string
	numbers       any
	columns       []any
	rows          [][]any
}

// draw draws a figure, and prints its numbers.
func (o *tableOptions) draw(cmd *cobra.Command, folder, name string) error {
	switch {
	case o.severity < 1 || o.severity > 5:
		return cli.Usagef("--severity %d: expected 1 to 5", o.severity)
	case cmd.Flags().Changed("severity") && o.figure != groups:
		return cli.Usagef("--severity with --figure %s: expected --figure groups", o.figure)
	}
	if o.figure != costs && (cmd.Flags().Changed("beside") || cmd.Flags().Changed("radius")) {
		return cli.Usagef("--beside and --radius go with --figure %s", costs)
	}
	for _, other := range []string{"left", "claims", "published", "format"} {
		if cmd.Flags().Changed(other) {
			return cli.Usagef("--%s with --figure %s: it is of tables", other, o.figure)
		}
	}
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	p, err := o.picture(cmd.Context(), folder, name)
	if err != nil {
		return cli.Usage(err)
	}
	data, err := cli.Drawing("out", o.table.Out, p.caption, p.width, p.height, p.paint)
	if err != nil {
		return err
	}
	if err := cli.WriteOut(cmd, o.table.Out, data); err != nil {
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
func (o *tableOptions) picture(ctx context.Context, folder, name string) (*picture, error) {
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
	case costs:
		return o.costPicture(ctx, folder, name)
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

// costPicture takes the table and those of --beside, each FOLDER or FOLDER=TABLE.
func (o *tableOptions) costPicture(ctx context.Context, folder, name string) (*picture, error) {
	if !(o.radius >= 0) || math.IsInf(o.radius, 0) {
		return nil, cli.Usagef("--radius %v: expected a number of at least 0", o.radius)
	}
	of := []results.TableAt{{Folder: folder, Name: name}}
	for _, text := range o.beside {
		other, table, _ := strings.Cut(text, "=")
		of = append(of, results.TableAt{Folder: other, Name: table})
	}
	c, err := results.TrainingCosts(ctx, of, o.radius, o.bootstrap)
	if err != nil {
		return nil, err
	}
	grid := experimentplot.TrainingCosts(c)
	p := &picture{paint: grid.Paint, numbers: c, caption: fmt.Sprintf("certified accuracy at radius %g over passes of "+
		"training, %d images, the mean over %s", c.Radius, c.Images, strings.Join(c.Cells, ", ")),
		columns: []any{"model", "tier", "networks", "passes", "certified accuracy", "low", "high"}}
	p.width, p.height = grid.Size()
	for _, l := range c.Lines {
		p.rows = append(p.rows, []any{l.Title, l.Tier, l.Networks, fmt.Sprint(l.Passes), l.Accuracy, l.Interval.Low,
			l.Interval.High})
	}
	return p, nil
}
