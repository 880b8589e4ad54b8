package ledger

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// startsOn is the output of "ledger starts" of a set.
type startsOn struct {
	Set        string      `json:"set"`
	Sets       []string    `json:"sets"` // over which it is the mean
	A          sampled     `json:"a"`
	B          *sampled    `json:"b,omitempty"`
	Difference *difference `json:"difference,omitempty"`
}

type sampled struct {
	Starts []string          `json:"starts"`
	Images []int             `json:"images"`
	Values [][]float64       `json:"values"` // by start and image
	Mean   resample.Estimate `json:"mean"`
}

// difference is A − B.
type difference struct {
	Value    float64           `json:"value"`
	Interval resample.Interval `json:"interval"`
	P        float64           `json:"p"`
}

// startsOptions holds the values of the flags of "ledger starts".
type startsOptions struct {
	bootstrap resample.Options
	on        []string
	what      string
	table     cli.TableOptions
	json      *bool
}

func startsCommand() *cobra.Command {
	var o startsOptions
	cmd := &cobra.Command{
		Use:   "starts A [B]",
		Short: "Average several starts of a method, and compare two methods, with intervals",
		Long: `Average the results of networks that one method trained from several random weights, and
compare them with those of another method: A − B.

A and B are patterns of paths, one path for each start: folders of ledgers, as certspec sweep writes them, or
files of certspec experiment run. Quote them, so that the shell leaves them as they are. Intervals are over
images and, where a method has two or more starts, over starts: another training comes out otherwise.
The sets are those that all paths have; a family such as C is the mean over its sets.`,
		Example: "  certspec ledger starts 'out/ours-?' 'out/baseline-?' --on clean,C\n" +
			"  certspec ledger starts 'out/ours-?' --on fog-3 --what 'ca 0.5' --json",
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Words(&o.on, "on", []string{"clean"}, "sets: clean, fog-3, a corruption, or a family or group, as C or 'C Low'",
			func() []string { return []string{"clean", "C", "C-bar"} })
		f.Named(&o.what, "what", "acr", "quantity: acr (average certified radius), or 'ca R' (certified accuracy at R)",
			func() []string { return []string{"acr", "ca 0.5"} })
		f.BootstrapFlags(&o.bootstrap)
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "on", "what", "confidence", "out", "format")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *startsOptions) run(cmd *cobra.Command, patterns []string) error {
	if len(patterns) < 1 || len(patterns) > 2 {
		return cli.Usagef("%s wants one or two patterns, not %d", cmd.CommandPath(), len(patterns))
	}
	if err := cli.CheckBootstrap(o.bootstrap); err != nil {
		return err
	}
	if _, err := study.Find(o.what); err != nil {
		return cli.Usagef("--what: %w", err)
	}
	folder, err := study.OpenFiles(patterns...)
	if err != nil {
		return err
	}
	var all []startsOn
	for _, set := range o.on {
		one, err := o.of(cmd.Context(), folder, set)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	return o.table.Write(cmd, startsTable(all, o.what))
}

// of measures one set.
func (o *startsOptions) of(ctx context.Context, folder *study.Folder, set string) (s startsOn, err error) {
	s.Set = set
	if s.Sets, err = folder.Sets(set); err != nil {
		return s, err
	}
	var found []sampled
	var cells []study.Cell
	for _, row := range folder.Rows {
		cell := study.Cell{Row: row.Title, Set: set, What: o.what}
		sample, err := folder.Sample(cell)
		if err != nil {
			return s, err
		}
		mean, err := sample.Interval(ctx, o.bootstrap)
		if err != nil {
			return s, cli.Usage(err)
		}
		m := sampled{Images: sample.Images, Values: sample.Values, Mean: mean}
		for _, start := range sample.Networks {
			m.Starts = append(m.Starts, start.Network)
		}
		found, cells = append(found, m), append(cells, cell)
	}
	s.A = found[0]
	if len(found) == 1 {
		return s, nil
	}
	s.B = &found[1]
	d, err := folder.Difference(ctx, cells[0], cells[1], o.bootstrap)
	if err != nil {
		return s, fmt.Errorf("%s: %w", set, err)
	}
	s.Difference = &difference{d.Difference, d.Interval, d.P}
	return s, nil
}

func startsTable(all []startsOn, what string) *table.Table {
	t := table.New("set", "A", "95 %", "starts", "images")
	if all[0].B != nil {
		t = table.New("set", "A", "B", "A − B", "95 %", "p", "starts", "images")
	}
	t.Title = what
	for _, s := range all {
		if s.B == nil {
			t.Add(s.Set, s.A.Mean.Value, s.A.Mean.Interval, len(s.A.Starts), len(s.A.Images))
			continue
		}
		t.Add(s.Set, s.A.Mean.Value, s.B.Mean.Value, s.Difference.Value, s.Difference.Interval, s.Difference.P,
			fmt.Sprintf("%d, %d", len(s.A.Starts), len(s.B.Starts)), len(s.A.Images))
	}
	return t
}
