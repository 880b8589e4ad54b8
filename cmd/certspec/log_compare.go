package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs"
)

// comparison is what "log compare" prints.
type comparison struct {
	A string `json:"a"`
	B string `json:"b"`
	*rs.Comparison
	Warnings []string `json:"warnings"`
}

func logCompareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Differences of two logs on the same images, with intervals",
		Long: `Differences B − A of the average certified radius and of the certified accuracies of two ledgers or
published logs, paired by the id of the image, with intervals of the paired bootstrap: images are
resampled, each with its results in both. An interval that holds 0 shows no difference.
Images that only one of the two has are named and left out.`,
		Example: "  certspec log compare plain.ledger augmented.ledger --radii 0,0.25,0.5",
	}
	var o rs.Bootstrap
	f := cmd.Flags()
	f.IntVar(&o.Resamples, "resamples", 10_000, "resamples of the bootstrap")
	f.Float64Var(&o.Confidence, "confidence", rs.DefaultConfidence, "of the intervals")
	f.Uint64Var(&o.Seed, "seed", 0, "of the resampling")
	radiiOf, limitOf := radiiFlag(cmd), limitFlags(cmd)
	write := tableFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if len(files) != 2 {
			return usagef("%s wants two files, not %d", cmd.CommandPath(), len(files))
		}
		if o.Resamples < 1 || !(o.Confidence > 0) { // 0 would be the default
			return usagef("--resamples %d, --confidence %v: expected more than 0", o.Resamples, o.Confidence)
		}
		radii, err := radiiOf()
		if err != nil {
			return err
		}
		limit, err := limitOf()
		if err != nil {
			return err
		}
		logs, failed := readLogs(files, limit)
		if failed != nil {
			return failed
		}
		a, b := logs[0], logs[1]
		c, err := rs.Compare(a.rows, b.rows, radii, o)
		if err != nil {
			var option *rs.OptionError
			if errors.As(err, &option) {
				return usageError{err}
			}
			return fmt.Errorf("%s, %s: %w", files[0], files[1], err)
		}
		all := comparison{files[0], files[1], c, []string{}}
		for _, l := range logs {
			for _, warning := range l.warnings {
				all.Warnings = append(all.Warnings, l.file+": "+warning)
			}
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), all)
		}
		a.warn()
		b.warn()
		return write(all.table())
	}
	return cmd
}

func (c *comparison) table() *table.Table {
	t := &table.Table{Columns: []string{"metric", "A", "B", "B − A", "low", "high"}}
	add := func(metric string, d rs.Difference) {
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

// imageList says how many images there are and names the first.
func imageList(images []int) string {
	const most = 10
	text, rest := strings.Trim(fmt.Sprint(images[:min(most, len(images))]), "[]"), ""
	if len(images) > most {
		rest = " …"
	}
	return fmt.Sprintf("%d images: %s%s.", len(images), strings.ReplaceAll(text, " ", ", "), rest)
}
