package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

type fileMetrics struct {
	Name string `json:"name"`
	File string `json:"file"`
	cli.Metrics
	Cap float64 `json:"cap,omitempty"` // largest radius that the run of a ledger can certify
}

// metricsOptions holds the values of the flags of "ledger metrics".
type metricsOptions struct {
	logOptions
	names     []string
	dataName  string
	bounds    bool
	cap       float64
	against   string
	bootstrap resample.Options
	table     cli.TableOptions
	json      *bool
}

func metricsCommand() *cobra.Command {
	var o metricsOptions
	cmd := &cobra.Command{
		Use:   "metrics FILE… | FOLDER",
		Short: "Print average certified radius and certified accuracies, a row per file",
		Long: `Print average certified radius and certified accuracies of ledgers and of published logs.

Logs are tab-separated text with the columns idx, label, predict, radius and perhaps correct, time, nA, n, plow and
nused. It warns of lines that are no rows, of missing rows and of logs that look truncated. With --n, --alpha and
--sigma it also warns of radii in published logs that so many noise samples cannot prove.

With --cap, radii are cut to the largest that fewer noise samples could certify, for a fair comparison.
With --json, one object per file and line. CSV has all digits.

Of a FOLDER that certspec sweep made it prints the average certified radius under each corruption, over the
groups of CIFAR-C that are whole and over all (mACR); --against clean adds the differences from the clean run.
Of a FOLDER of published logs, corrupted/MODEL/severity_S/CORRUPTION.tsv beside clean/MODEL.tsv, it prints the
groups for each model; --against MODEL adds the differences from one of them. Intervals are of the bootstrap
over images, paired.`,
		Example: "  certspec ledger metrics out/fmnist-s025.ledger cohen.tsv --radii 0,0.25,0.5\n" +
			"  certspec ledger metrics a.ledger b.tsv --names \"ours,Cohen et al.\" -o table.tex\n" +
			"  certspec ledger metrics out/resnet20-C --against clean\n" +
			"  certspec ledger metrics $CERTSPEC_DATA/certify-logs-shift --against cohen --cap 0.78",
		Args: cli.SomeLedgers,
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.logOptions.flags(f)
		f.Words(&o.names, "names", nil, "names shown for the files, in their order (default the files' names)",
			nil)
		f.DataName(&o.dataName)
		f.BoolVar(&o.bounds, "bounds", false,
			"also how the lower bounds of the probability are distributed over the certified images")
		f.Float64Var(&o.cap, "cap", 0,
			"cut every radius to this, the largest that the noise samples of another run can certify; 0 cuts none")
		f.Text(&o.against, "against", "of a folder: model that the others are compared with; of a sweep clean")
		f.BootstrapFlags(&o.bootstrap)
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "radii", "names", "against", "out", "format")
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *metricsOptions) run(cmd *cobra.Command, files []string) error {
	f := cmd.Flags()
	foreign, of := []string{"radii", "n", "alpha", "sigma", "names", "bounds"}, "files"
	folder := isFolder(files[0])
	logs := folder && isFolder(filepath.Join(files[0], "corrupted"))
	switch {
	case !folder:
		foreign, of = []string{"against", "resamples", "confidence", "seed"}, "a folder"
	case !logs:
		foreign, of = append(foreign, "cap"), "files or a folder of logs"
	}
	if err := checkCap(o.cap); err != nil {
		return err
	}
	for _, name := range foreign {
		if f.Changed(name) {
			return cli.Usagef("--%s with %s: it is of %s", name, files[0], of)
		}
	}
	switch {
	case folder && len(files) != 1:
		return cli.Usagef("%s wants one folder, got %d; certspec ledger compare takes two", cmd.CommandPath(),
			len(files))
	case folder:
		if err := cli.CheckBootstrap(o.bootstrap); err != nil {
			return err
		}
		if logs {
			return o.groups(cmd, files[0])
		}
		return o.sweep(cmd, files[0])
	case f.Changed("names") && len(o.names) != len(files):
		return cli.Usagef("--names has %d names for %d files", len(o.names), len(files))
	}
	limit, err := o.limitOf(f)
	if err != nil {
		return err
	}
	read, failed := readLogs(files, limit)
	if len(read) == 0 || failed != nil && o.table.Out != "" {
		return failed
	}
	names := map[string]string{}
	for i, file := range files {
		base := filepath.Base(file)
		if names[file] = strings.TrimSuffix(base, filepath.Ext(base)); f.Changed("names") {
			names[file] = o.names[i]
		}
	}
	var all []fileMetrics
	heading, err := differFromFirst(read, limit)
	if err != nil {
		return err
	}
	for i, l := range read {
		if i > 0 && heading[i] != "" {
			l.Warnings = append(slices.Clone(l.Warnings), fmt.Sprintf("beside %s: %s", read[0].File, heading[i]))
		}
		m := fileMetrics{Name: names[l.File], File: l.File, Metrics: cli.Measure(l.Rows.Capped(o.cap), o.radii,
			l.Warnings)}
		if l.Run != nil {
			m.Cap = l.Run.RadiusCap()
		}
		if o.bounds {
			d := l.Rows.Bounds()
			m.Bounds = &d
			if d.Images == 0 {
				m.Warnings = append(m.Warnings, "names no lower bounds of the probability")
			}
		}
		all = append(all, m)
	}
	if *o.json {
		return errors.Join(cli.PrintLines(cmd.OutOrStdout(), all...), failed)
	}
	for _, m := range all {
		warn(m.File, m.Warnings)
	}
	return errors.Join(o.table.Write(cmd, o.render(read, all)...), failed)
}

// render has a row per log, and a table for each distribution of bounds.
func (o *metricsOptions) render(logs []*certlog.Results, all []fileMetrics) []*table.Table {
	t := table.New("method", "images", "abstained")
	for _, r := range o.radii {
		t.Columns = append(t.Columns, fmt.Sprintf("r = %g", r))
	}
	t.Columns = append(t.Columns, "ACR")
	tables := []*table.Table{t}
	marked := false
	for i, m := range all {
		row := []any{m.Name, m.Rows, m.Abstained}
		for j, radius := range o.radii {
			if beyond := len(logs) > 1 && m.Cap > 0 && radius > m.Cap; beyond && o.table.Form() != "csv" {
				row, marked = append(row, table.None), true
			} else if j < len(m.CertifiedAccuracy) {
				row = append(row, table.Rounded{Value: m.CertifiedAccuracy[j].Value, Decimals: 4})
			} else {
				row = append(row, table.None)
			}
		}
		if m.ACR != nil {
			t.Add(append(row, table.Rounded{Value: *m.ACR, Decimals: 4})...)
		} else {
			t.Add(append(row, table.None)...)
		}
		if l := logs[i]; l.Run != nil {
			h := l.Run.Header
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s on %s, σ = %g, α = %g, %s rule, n ≤ %s.", m.Name,
				h.Model.Name, cmp.Or(o.dataName, printable.DataTitle(h.Data.Name)), h.Sigma, h.Alpha, h.Rule.Name,
				printable.Count(h.MaxSamples())))
			if len(all) > 1 {
				t.Notes[len(t.Notes)-1] += fmt.Sprintf(" No radius above %.4f.", m.Cap)
			}
		}
		if m.Bounds == nil || m.Bounds.Images == 0 {
			continue
		}
		b := table.New("lower bound", "images")
		b.Notes = []string{fmt.Sprintf("%s: lower bounds of %d certified images.", m.Name, m.Bounds.Images)}
		for _, q := range m.Bounds.Quantiles {
			b.Add(fmt.Sprintf("at most %.9f", q.Lower), fmt.Sprintf("%g %%", 100*q.Share))
		}
		for _, c := range m.Bounds.Histogram {
			b.Add(fmt.Sprintf("[%g, %g)", c.From, c.To), c.Count)
		}
		tables = append(tables, b)
	}
	if marked {
		t.Notes = append(t.Notes, "–: beyond the largest radius that these noise samples can certify.")
	}
	return tables
}

// differFromFirst says of each file after the first what differs from it, where that is more than the model.
func differFromFirst(logs []*certlog.Results, limit *radiusLimit) (headings []string, err error) {
	headings = make([]string, len(logs))
	var first compare.Radii
	for i, l := range logs {
		r, err := radiiOf(l, limit)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = r
			continue
		}
		differ := compare.Differ(first.Header, r.Header)
		if slices.ContainsFunc(differ, func(s compare.Setting) bool { return s.Name != "model" }) {
			headings[i] = compare.Heading(differ)
		}
	}
	return headings, nil
}
