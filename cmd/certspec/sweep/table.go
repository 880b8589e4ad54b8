package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/sweep"
)

// sweptTable is what "sweep table" prints of one folder.
type sweptTable struct {
	Folder     string   `json:"folder"`
	Clean      *float64 `json:"clean_acr"` // null: not there
	Unfinished []string `json:"unfinished"`
	*compare.Sweep
}

// sweptComparison is what it prints of two.
type sweptComparison struct {
	A          string   `json:"a"`
	B          string   `json:"b"`
	Unfinished []string `json:"unfinished"`
	*compare.SweepComparison
}

// tableOptions are what the flags of "sweep table" ask.
type tableOptions struct {
	bootstrap resample.Options
	against   bool
	table     cli.TableOptions
	json      *bool
}

func tableCommand() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table FOLDER [FOLDER]",
		Short: "Print average certified radii under corruptions, with intervals",
		Long: `Make the table of a sweep: the average certified radius under each corruption, as the mean over its severities.

It has the mean over all corruptions (mACR), the means over the groups of CIFAR-C that are whole (mACR-Low,
-Mid and -High among them), and whether Low < Mid < High. Intervals are those of the bootstrap over images.

--clean adds the differences to the clean run of the folder. A second folder, of a sweep over the same
corruptions, severities and images, gives the differences second − first. Both are paired by image.`,
		Example: "  certspec sweep table out/resnet20-C --clean\n  certspec sweep table out/plain out/fouriermix -o " +
			"table.tex",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.against, "clean", false, "differences to the clean run of the folder")
		f.BootstrapFlags(&o.bootstrap)
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, folders []string) error { return o.run(cmd, folders) }
	return cmd
}

func (o *tableOptions) run(cmd *cobra.Command, folders []string) error {
	if n := len(folders); n < 1 || n > 2 || o.against && n == 2 {
		return cli.Usagef("%s wants one folder, or two without --clean", cmd.CommandPath())
	}
	if err := cli.CheckBootstrap(o.bootstrap); err != nil {
		return err
	}
	var sweeps []*sweep.Sweep
	unfinished := []string{}
	for _, folder := range folders {
		s, err := sweep.Open(folder)
		if err != nil {
			return err
		}
		for _, name := range s.Unfinished {
			unfinished = append(unfinished, folder+"/"+name)
		}
		sweeps = append(sweeps, s)
	}
	if len(unfinished) > 0 {
		cli.Say("warning: not complete, left out: %s", strings.Join(unfinished, ", "))
	}
	s := sweeps[0]
	if len(sweeps) == 1 && !o.against {
		c, err := compare.MeanACR(cmd.Context(), s.Radii(), o.bootstrap)
		if err != nil {
			return cli.Usage(err)
		}
		t := sweptTable{folders[0], nil, unfinished, c}
		if s.Clean != nil {
			acr := s.Clean.ACR().Value
			t.Clean = &acr
		}
		if *o.json {
			return cli.PrintJSON(cmd.OutOrStdout(), t)
		}
		return o.write(cmd, t.table(s), c.Severities)
	}
	a, b, names := s.Radii(), s.Radii(), [2]string{folders[0] + ", clean", folders[0]}
	switch {
	case len(sweeps) == 2:
		b, names = sweeps[1].Radii(), [2]string{folders[0], folders[1]}
	case s.Clean == nil:
		return fmt.Errorf("%s has no complete clean.ledger to compare with; certspec sweep run makes it", folders[0])
	default:
		a = compare.Uncorrupted(a, compare.Of(s.Clean.Rows.Vectors()))
	}
	c, err := compare.Sweeps(cmd.Context(), a, b, o.bootstrap)
	if err != nil {
		return cli.Usage(err)
	}
	all := sweptComparison{names[0], names[1], unfinished, c}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	return o.write(cmd, all.table(sweeps), c.Severities)
}

// write puts the severities that a row is a mean over beside its name. CSV stays as it was, for
// programs that count columns.
func (o *tableOptions) write(cmd *cobra.Command, t *table.Table, severities []int) error {
	if o.table.Form() != "csv" {
		t.Columns = slices.Insert(t.Columns, 1, "severities")
		for i, row := range t.Rows {
			over := table.None
			if row[0] != cleanRow {
				over = listed(severities)
			}
			t.Rows[i] = slices.Insert(row, 1, any(over))
		}
	}
	return o.table.Write(cmd, t)
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

func (c *sweptComparison) table(sweeps []*sweep.Sweep) *table.Table {
	t := &table.Table{Columns: []string{"corruption", "A", "B", "B − A", "low", "high"}}
	var names []string
	var all []compare.Difference
	add := func(name string, d compare.Difference) {
		names, all = append(names, name), append(all, d)
		t.Rows = append(t.Rows, []any{name, four(d.A), four(d.B), four(d.Difference), four(d.Interval.Low),
			four(d.Interval.High)})
	}
	for _, d := range c.Corruptions {
		add(d.Name, d.Difference)
	}
	for _, d := range c.Groups {
		add(meanName(d.Name), d.Difference)
	}
	add("mACR", c.MACR)
	t.Notes = append(t.Notes, runNote("A: "+c.A, sweeps[0]), runNote("B: "+c.B, sweeps[len(sweeps)-1]),
		intervalNote(c.Images, c.Severities, c.Bootstrap))
	if text := compare.Claims(c.Bootstrap.Confidence, names, all); text != "" {
		t.Notes = append(t.Notes, text)
	}
	return t
}

func runNote(name string, s *sweep.Sweep) string {
	h := s.Header
	note := fmt.Sprintf("%s: %s, σ = %g, α = %g, %s rule, at most %d noise samples per image.",
		name, h.Model.Name, h.Sigma, h.Alpha, h.Rule.Name, h.Rule.Looks[len(h.Rule.Looks)-1].Samples)
	if s.DrawnFrost {
		note += " " + corrupt.DrawnFrost
	}
	return note
}

func intervalNote(images int, severities []int, b resample.Options) string {
	return fmt.Sprintf("Average certified radii over %d images, mean over the severities %s. Low and high: %g %% "+
		"interval of the bootstrap over images, %d resamples, seed %d.",
		images, listed(severities), 100*b.Confidence, b.Resamples, b.Seed)
}
