package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/table"
)

// sweptTable is the output of "ledger metrics" of a sweep.
type sweptTable struct {
	Folder     string   `json:"folder"`
	Clean      *float64 `json:"clean_acr"` // null: not there
	Unfinished []string `json:"unfinished"`
	*compare.Sweep
}

// sweptComparison is printed beside the clean run, and by "ledger compare" of two sweeps.
type sweptComparison struct {
	A          string   `json:"a"`
	B          string   `json:"b"`
	Heading    string   `json:"heading"` // what differs between the two, and what may be claimed
	Unfinished []string `json:"unfinished"`
	*compare.SweepComparison
}

// openSweeps opens folders, and names the cells that are left out since they are not complete.
func openSweeps(folders ...string) (sweeps []*sweep.Sweep, unfinished []string, err error) {
	unfinished = []string{}
	for _, folder := range folders {
		s, err := sweep.Open(folder)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range s.Unfinished {
			unfinished = append(unfinished, folder+"/"+name)
		}
		sweeps = append(sweeps, s)
	}
	if len(unfinished) > 0 {
		cli.Say("warning: not complete, left out: %s", strings.Join(unfinished, ", "))
	}
	return sweeps, unfinished, nil
}

// sweep prints the radii of a sweep, or how they differ from those of its clean run.
func (o *metricsOptions) sweep(cmd *cobra.Command, folder string) error {
	sweeps, unfinished, err := openSweeps(folder)
	if err != nil {
		return err
	}
	s := sweeps[0]
	switch {
	case o.against == "clean" && s.Clean == nil:
		return fmt.Errorf("%s has no complete clean.ledger to compare with; certspec sweep makes it", folder)
	case o.against == "clean":
		b := s.Radii()
		c, err := compare.Sweeps(cmd.Context(), compare.Uncorrupted(b, compare.OfRun(s.Clean)), b,
			o.bootstrap)
		if err != nil {
			return cli.Usage(err)
		}
		all := sweptComparison{folder + ", clean", folder, cleanHeading, unfinished, c}
		return all.print(cmd, sweeps, &o.table, *o.json)
	case o.against != "":
		return cli.Usagef("--against %s with %s, a sweep: expected clean", o.against, folder)
	}
	c, err := compare.MeanACR(cmd.Context(), s.Radii(), o.bootstrap)
	if err != nil {
		return cli.Usage(err)
	}
	t := sweptTable{folder, nil, unfinished, c}
	if s.Clean != nil {
		acr := s.Clean.ACR().Value
		t.Clean = &acr
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), t)
	}
	return writeSweep(cmd, &o.table, "", t.table(s), c.Severities)
}

// sweeps prints the differences of two sweeps.
func (o *compareOptions) sweeps(cmd *cobra.Command, folders []string) error {
	sweeps, unfinished, err := openSweeps(folders...)
	if err != nil {
		return err
	}
	c, err := compare.Sweeps(cmd.Context(), sweeps[0].Radii(), sweeps[1].Radii(), o.bootstrap)
	if err != nil {
		return cli.Usage(err)
	}
	all := sweptComparison{folders[0], folders[1], compare.Heading(c.Differ), unfinished, c}
	return all.print(cmd, sweeps, &o.table, *o.json)
}

func (c *sweptComparison) print(cmd *cobra.Command, sweeps []*sweep.Sweep, to *cli.TableOptions, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), c)
	}
	return writeSweep(cmd, to, c.Heading, c.table(sweeps, to.Form() != "csv"), c.Severities)
}

const cleanHeading = "One model under the same settings: the images differ, clean (A) and corrupted (B)."

// writeSweep puts the severities that a row is a mean over beside its name. CSV stays as it was, for
// programs that count columns.
func writeSweep(cmd *cobra.Command, to *cli.TableOptions, heading string, t *table.Table,
	severities []int) error {
	if to.Form() != "csv" {
		t.Columns = slices.Insert(t.Columns, 1, "severities")
		for i, row := range t.Rows {
			over := table.None
			if row[0] != cleanRow {
				over = listed(severities)
			}
			t.Rows[i] = slices.Insert(row, 1, any(over))
		}
	}
	return to.WriteUnder(cmd, heading, t)
}

// cleanRow is the row of images without a corruption.
const cleanRow = "clean"

func listed(severities []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(severities), " ", ", "), "[]")
}

// meanName is how the paper calls the mean over a group.
func meanName(group string) string {
	return "mACR-" + strings.ToUpper(group[:1]) + group[1:]
}

func four(v float64) table.Rounded { return table.Rounded{Value: v, Decimals: 4} }

func (c *sweptTable) table(s *sweep.Sweep) *table.Table {
	t := &table.Table{Columns: []string{"corruption", "ACR", "low", "high"}}
	add := func(name string, a compare.NamedACR) {
		t.Rows = append(t.Rows, []any{name, four(a.ACR), four(a.Interval.Low), four(a.Interval.High)})
	}
	for _, a := range c.Corruptions {
		add(a.Name, a)
	}
	for _, g := range c.Groups {
		add(meanName(g.Name), g)
	}
	add("mACR", c.MACR)
	if c.Clean != nil {
		t.Rows = append(t.Rows, []any{cleanRow, four(*c.Clean), table.None, table.None})
	}
	t.Notes = append(t.Notes, runNote(c.Folder, s), intervalNote(c.Images, c.Severities, c.Bootstrap))
	for _, d := range c.Order {
		t.Notes = append(t.Notes, fmt.Sprintf("From %s: %+.4f (%+.4f to %+.4f, paired).", d.Name,
			d.Difference.Difference, d.Interval.Low, d.Interval.High))
	}
	return t
}

func (c *sweptComparison) table(sweeps []*sweep.Sweep, withVerdicts bool) *table.Table {
	t := comparedTable("corruption", withVerdicts)
	verdicts := map[string]compare.Verdict{}
	for _, v := range c.Verdicts {
		verdicts[v.Metric] = v
	}
	for _, d := range c.Corruptions {
		t.add(d.Name, d.Difference, verdicts[d.Name])
	}
	for _, d := range c.Groups {
		t.add(meanName(d.Name), d.Difference, verdicts[d.Name])
	}
	t.add("mACR", c.MACR, verdicts["mACR"])
	t.Notes = append(t.Notes, runNote("A: "+c.A, sweeps[0]), runNote("B: "+c.B, sweeps[len(sweeps)-1]),
		intervalNote(c.Images, c.Severities, c.Bootstrap))
	t.Notes = append(t.Notes, t.claimed(c.Bootstrap.Confidence)...)
	return t.Table
}

func runNote(name string, s *sweep.Sweep) string {
	h := s.Header
	note := fmt.Sprintf("%s: %s, σ = %g, α = %g, %s rule, at most %s noise samples per image.",
		name, h.Model.Name, h.Sigma, h.Alpha, h.Rule.Name, printable.Count(h.MaxSamples()))
	if s.DrawnFrost {
		note += " " + shared.DrawnFrost
	}
	return note
}

func intervalNote(images int, severities []int, b resample.Options) string {
	return fmt.Sprintf("Average certified radii over %d images, mean over the severities %s. Low and high: %g %% "+
		"interval of %s.", images, listed(severities), 100*b.Confidence, compare.MethodOf(images, b))
}
