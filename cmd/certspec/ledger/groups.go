package ledger

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/lines/certified/certifiedfiles"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

// groupsOf is a model with its average certified radii by frequency group.
type groupsOf struct {
	Model string `json:"model"`
	*compare.Sweep
	Against *compare.SweepComparison `json:"against,omitempty"` // model − the one it is compared with
}

// published are the images of CIFAR-10's test set: ids of its published corruptions number the severities through.
const published = 10_000

// groups prints average certified radii of a folder of published logs, by frequency group.
func (o *metricsOptions) groups(cmd *cobra.Command, folder string) error {
	models, err := certifiedfiles.ReadLogs(folder)
	if err != nil {
		return err
	}
	sweeps, names := map[string][]compare.Corrupted{}, []string{}
	for _, m := range models {
		runs := m.Corrupted(published)
		for _, run := range runs {
			for i, radius := range run.Radii.Values {
				if o.cap > 0 && radius > o.cap {
					run.Radii.Values[i] = o.cap
				}
			}
		}
		sweeps[m.Name], names = runs, append(names, m.Name)
	}
	if o.against != "" && sweeps[o.against] == nil {
		return cli.Usagef("--against %s: expected %s", o.against, cli.List(names))
	}
	var all []groupsOf
	for _, name := range names {
		g := groupsOf{Model: name}
		if g.Sweep, err = compare.MeanACR(cmd.Context(), sweeps[name], o.bootstrap); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o.against != "" && name != o.against {
			if g.Against, err = compare.Sweeps(cmd.Context(), sweeps[o.against], sweeps[name],
				o.bootstrap); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		all = append(all, g)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	return o.table.Write(cmd, o.renderGroups(all))
}

func (o *metricsOptions) renderGroups(all []groupsOf) *table.Table {
	t := &table.Table{Columns: []string{"model", "low", "mid", "high", "mid − low", "high − mid", "all"}}
	if o.against != "" {
		t.Columns = append(t.Columns, "from "+o.against)
	}
	difference := func(d compare.Difference) string {
		return fmt.Sprintf("%+.3f (%+.3f to %+.3f)", d.Difference, d.Interval.Low, d.Interval.High)
	}
	for _, g := range all {
		row := []any{g.Model}
		for _, group := range g.Groups {
			if group.Name == "low" || group.Name == "mid" || group.Name == "high" {
				row = append(row, fmt.Sprintf("%.3f", group.ACR))
			}
		}
		for _, d := range g.Order {
			row = append(row, difference(d.Difference))
		}
		row = append(row, fmt.Sprintf("%.3f (%.3f to %.3f)", g.MACR.ACR, g.MACR.Interval.Low, g.MACR.Interval.High))
		switch {
		case g.Against != nil:
			row = append(row, difference(g.Against.MACR))
		case o.against != "":
			row = append(row, table.None)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(all) > 0 {
		b := all[0].Bootstrap
		t.Notes = append(t.Notes, fmt.Sprintf("Average certified radii over %d images of each corruption, mean over "+
			"severities. In brackets %g %% intervals of the bootstrap over images, paired, %d resamples, seed %d.",
			all[0].Images, 100*b.Confidence, b.Resamples, b.Seed))
		if o.cap > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("Radii are cut at %g.", o.cap))
		}
	}
	return t
}
