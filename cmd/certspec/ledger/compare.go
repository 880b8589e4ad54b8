package ledger

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

// comparison is what "ledger compare" prints.
type comparison struct {
	A string `json:"a"`
	B string `json:"b"`
	*compare.Comparison
	Warnings []string `json:"warnings"`
}

// compareOptions are what the flags of "ledger compare" ask.
type compareOptions struct {
	bootstrap resample.Options
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

It prints the differences B − A of the average certified radius and of the certified accuracies, with
intervals of the paired bootstrap: images are resampled, each with its results in both. An interval that holds
0 shows no difference. Images that only one of the two has are named and left out.`,
		Example: "  certspec ledger compare plain.ledger augmented.ledger --radii 0,0.25,0.5\n" +
			"  certspec ledger compare out/plain-C out/fouriermix-C",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.logOptions.flags(f)
		f.BootstrapFlags(&o.bootstrap)
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
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
		for _, name := range []string{"radii", "n", "alpha", "sigma"} {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s with %s: it is of files", name, files[0])
			}
		}
		return o.sweeps(cmd, files)
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
	c, err := compare.Runs(cmd.Context(), compare.Of(a.Rows.Vectors()), compare.Of(b.Rows.Vectors()), o.radii,
		o.bootstrap)
	if err != nil {
		if wrong := cli.Usage(err); wrong != err {
			return wrong
		}
		return fmt.Errorf("%s, %s: %w", files[0], files[1], err)
	}
	all := comparison{files[0], files[1], c, []string{}}
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
	return o.table.Write(cmd, all.table())
}

func (c *comparison) table() *table.Table {
	t := &table.Table{Columns: []string{"metric", "A", "B", "B − A", "low", "high"}}
	var names []string
	var all []compare.Difference
	add := func(metric string, d compare.Difference) {
		names, all = append(names, metric), append(all, d)
		row := []any{metric}
		for _, v := range []float64{d.A, d.B, d.Difference, d.Interval.Low, d.Interval.High} {
			row = append(row, table.Rounded{Value: v, Decimals: 4})
		}
		t.Rows = append(t.Rows, row)
	}
	add("ACR", c.ACR)
	for _, a := range c.CertifiedAccuracy {
		add(fmt.Sprintf("r = %g", a.Radius), a.Difference)
	}
	t.Notes = append(t.Notes,
		fmt.Sprintf("A: %s. B: %s. Over the %d images that both have with a label.", c.A, c.B, c.Images),
		fmt.Sprintf("Low and high: the %g %% interval of B − A, by the paired bootstrap with %d resamples, seed %d.",
			100*c.Bootstrap.Confidence, c.Bootstrap.Resamples, c.Bootstrap.Seed))
	if text := claimed(c.Bootstrap.Confidence, names, all); text != "" {
		t.Notes = append(t.Notes, text)
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
	return t
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

// claimed says which of several differences may be claimed together at a level of confidence, by their names in order.
// It is "" for one difference.
func claimed(confidence float64, names []string, of []compare.Difference) string {
	var shown []string
	for i, d := range of {
		if d.Holm == nil {
			return ""
		}
		if *d.Holm <= 1-confidence {
			shown = append(shown, names[i])
		}
	}
	if len(shown) == 0 {
		shown = []string{"none"}
	}
	return fmt.Sprintf("Of the %d differences, these may be claimed together (p corrected by Holm, at most %.3g): %s.",
		len(of), 1-confidence, strings.Join(shown, ", "))
}
