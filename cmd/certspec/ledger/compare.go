package ledger

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

// comparison is the output of "ledger compare".
type comparison struct {
	A       string `json:"a"`
	B       string `json:"b"`
	Heading string `json:"heading"` // what differs between the two, and what may be claimed
	*compare.Comparison
	Warnings []string `json:"warnings"`
}

// compareOptions holds the values of the flags of "ledger compare".
type compareOptions struct {
	bootstrap resample.Options
	cap       float64
	logOptions
	table cli.TableOptions
	json  *bool
}

func compareCommand() *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two ledgers, or two sweeps, image by image, with intervals",
		Long: `Compare two ledgers or published logs on the same images, paired by the id of the image; or the folders of two
sweeps, corruption by corruption.

The first line says what differs between the two: the model, or settings such as σ, n, α or the rule.
Then come the differences B − A of the average certified radius and of the certified accuracies, with
intervals of the paired bootstrap: images are resampled, each with its results in both. Of fewer than
100 images they are Student's, since those of the bootstrap are too short.

Verdicts are higher, lower or open. Where a setting differs all are open, as it may be the cause.
Else they follow from p, which Holm's method corrects for all differences of the table together. So an
interval without 0 may still be open: it stands for one difference alone, and of many some miss 0 by
chance. Radii are cut at the smaller cap, and none beyond it is compared. Images that only one of the
two has are left out.`,
		Example: "  certspec ledger compare plain.ledger augmented.ledger --radii 0,0.25,0.5\n" +
			"  certspec ledger compare out/plain-C out/fouriermix-C",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.logOptions.flags(f)
		f.Float64Var(&o.cap, "cap", 0, "cut radii at this too, if it is below both caps; 0 does not")
		f.BootstrapFlags(&o.bootstrap)
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "radii", "cap", "confidence", "out", "format")
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *compareOptions) run(cmd *cobra.Command, files []string) error {
	if len(files) != 2 {
		return cli.Usagef("%s wants two files, not %d", cmd.CommandPath(), len(files))
	}
	if err := cli.CheckBootstrap(o.bootstrap); err != nil {
		return err
	}
	if isFolder(files[0]) && isFolder(files[1]) {
		for _, name := range []string{"radii", "n", "alpha", "sigma", "cap"} {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s with %s: it is of files", name, files[0])
			}
		}
		return o.sweeps(cmd, files)
	}
	if err := checkCap(o.cap); err != nil {
		return err
	}
	limit, err := o.limitOf(cmd.Flags())
	if err != nil {
		return err
	}
	logs, failed := readLogs(files, limit)
	if failed != nil {
		return failed
	}
	a, b := logs[0], logs[1]
	var sides [2]compare.Radii
	for i, l := range logs {
		if sides[i], err = radiiOf(l, limit); err != nil {
			return err
		}
		if o.cap > 0 {
			sides[i].Cap = min(o.cap, cmp.Or(sides[i].Cap, o.cap))
		}
	}
	c, err := compare.Runs(cmd.Context(), sides[0], sides[1], o.radii, o.bootstrap)
	if err != nil {
		if wrong := cli.Usage(err); wrong != err {
			return wrong
		}
		return fmt.Errorf("%s, %s: %w", files[0], files[1], err)
	}
	all := comparison{files[0], files[1], compare.Heading(c.Differ), c, []string{}}
	if sides[0].Header == nil && sides[1].Header == nil {
		all.Heading = onTrust
	}
	for _, l := range logs {
		for _, warning := range l.Warnings {
			all.Warnings = append(all.Warnings, l.File+": "+warning)
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	warn(a.File, a.Warnings)
	warn(b.File, b.Warnings)
	return o.table.WriteUnder(cmd, all.Heading, all.table(o.table.Form() != "csv"))
}

// onTrust is the heading of two published logs.
const onTrust = "Published logs do not say their settings: that n, α, σ and rule are equal is taken on " +
	"trust. --n, --alpha and --sigma check their radii."

// table has the verdicts too, but for CSV, whose columns stay for programs that count them.
func (c *comparison) table(withVerdicts bool) *table.Table {
	t := comparedTable("metric", withVerdicts)
	t.add("ACR", c.ACR, c.Verdicts[0])
	for i, a := range c.CertifiedAccuracy {
		t.add(c.Verdicts[i+1].Metric, a.Difference, c.Verdicts[i+1])
	}
	t.Notes = append(t.Notes,
		fmt.Sprintf("A: %s. B: %s. Over the %d images that both have with a label.", c.A, c.B, c.Images),
		fmt.Sprintf("Low and high: the %g %% interval of B − A, paired, by %s.", 100*c.Bootstrap.Confidence,
			compare.MethodOf(c.Images, c.Bootstrap)))
	t.Notes = append(t.Notes, t.claimed(c.Bootstrap.Confidence)...)
	if len(c.Beyond) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("Not compared, beyond the smaller cap of %.4f: %s.", c.Cap,
			"r = "+strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Beyond), " ", ", "), "[]")))
	}
	if c.Unlabelled > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("Without a label, not compared: %d images.", c.Unlabelled))
	}
	if len(c.OnlyA) > 0 {
		t.Notes = append(t.Notes, "Only in A, not compared: "+imageList(c.OnlyA))
	}
	if len(c.OnlyB) > 0 {
		t.Notes = append(t.Notes, "Only in B, not compared: "+imageList(c.OnlyB))
	}
	return t.Table
}

// differences is a table of differences B − A.
type differences struct {
	*table.Table
	verdicts bool
}

func comparedTable(first string, withVerdicts bool) *differences {
	t := &differences{table.New(first, "A", "B", "B − A", "low", "high"), withVerdicts}
	if withVerdicts {
		t.Columns = append(t.Columns, "p", "verdict")
	}
	return t
}

func (t *differences) add(name string, d compare.Difference, v compare.Verdict) {
	row := []any{name, four(d.A), four(d.B), four(d.Difference), four(d.Interval.Low),
		four(d.Interval.High)}
	if t.verdicts {
		row = append(row, four(d.Corrected()), v.Verdict)
	}
	t.Add(row...)
}

// claimed says how verdicts follow from p.
func (t *differences) claimed(confidence float64) []string {
	if !t.verdicts || len(t.Rows) < 2 {
		return nil
	}
	return []string{fmt.Sprintf("p: of no difference, corrected by Holm for these %d. At most %.3g is a "+
		"verdict, where no setting differs. Intervals stand for one difference alone.",
		len(t.Rows), 1-confidence)}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// imageList says how many images there are and names the first.
func imageList(images []int) string {
	const most = 10
	text, rest := strings.Trim(fmt.Sprint(images[:min(most, len(images))]), "[]"), ""
	if len(images) > most {
		rest = " …"
	}
	return fmt.Sprintf("%d images: %s%s.", len(images), strings.ReplaceAll(text, " ", ", "), rest)
}

func checkCap(most float64) error {
	if !(most >= 0) || math.IsInf(most, 0) {
		return cli.Usagef("--cap %v: expected a radius, or 0 for none", most)
	}
	return nil
}
