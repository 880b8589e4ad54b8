package ledger

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/rs/attest"
	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// canonicalFormat is a ledger again.
const canonicalFormat certlog.Format = "canonical"

// Tables of other programs.
const (
	veronaFormat certlog.Format = "verona"
	evalFormat   certlog.Format = "eval-results"
)

// exportOptions holds the values of the flags of "ledger export".
type exportOptions struct {
	format    certlog.Format
	benchmark string
	radii     []float64
	out       string
	json      *bool
}

func exportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export LEDGER",
		Short: "Write a ledger as the table that the field publishes, as CSV, or in its canonical form",
		Long: `Write one line per image: idx, label (-1: unknown), predict (-1: abstained), radius, correct and time,
as published logs have them, then nA (hits), n (noise samples of the look behind the bound), plow (lower
bound), nused (those in all) and misses. Times come from the file beside the ledger, and are empty
without one: h:mm:ss in a TSV, seconds in a CSV. A published log gets the same form; columns that it
lacks are empty.

The format canonical is a ledger again: what of an interrupted run stays whatever happens next. Provisional
lines and a torn tail are dropped; where all images are decided, claims and digest follow from the counts.

The format verona has the columns of VERONA's result_df.csv, with ℓ2 radii as epsilon_value. The format
eval-results is a YAML file for the folder .eval_results of a model on the Hub.`,
		Example: "  certspec ledger export out/fmnist-s025.ledger --format csv -o fmnist.csv\n" +
			"  certspec ledger export out/interrupted.ledger --format canonical -o out/kept.ledger",
		Args: cli.OneLedger,
	}
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file to write (default standard output)", "tsv .tsv .txt", "csv .csv", "verona .csv",
			"eval-results .yaml .yml", "canonical .ledger *")
		cli.Choice(f, &o.format, "format", "", "tsv, csv, canonical, verona or eval-results (default the one that "+
			"the ending of --out names, or tsv)", certlog.TSV, certlog.CSV, canonicalFormat, veronaFormat, evalFormat)
		f.Text(&o.benchmark, "benchmark", "for eval-results: data set and task on the Hub, as in "+
			"user/dataset:task")
		f.Floats(&o.radii, "radii", []float64{0, 0.25, 0.5}, "for eval-results: radii of the accuracies")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *exportOptions) run(cmd *cobra.Command, args []string) error {
	o.format = cmp.Or(o.format, certlog.Format(cli.FormatOf(cmd, o.out)), certlog.TSV)
	if o.format == canonicalFormat {
		return o.canonical(cmd, args[0])
	}
	if *o.json {
		return cli.Usagef("--json goes with --format canonical: tsv and csv are tables themselves")
	}
	read, err := certlog.ReadResults(args[0])
	if err != nil {
		return err
	}
	run := read.Run
	switch {
	case run != nil:
	case o.format == veronaFormat || o.format == evalFormat:
		return cli.Usagef("--format %s: %s is a published log, without the counts of a ledger", o.format, args[0])
	default:
		warn(args[0], read.Warnings)
		return o.table(cmd, read.Rows, nil)
	}
	if s := run.Header.Shard; s != nil && s.By == ledger.ShardBlocks {
		return errors.New(args[0] + ": a shard by blocks certifies no image by itself: merge all shards first")
	}
	if !run.Complete() {
		cli.Say("not complete: %d of %d images", len(run.Rows), run.Images())
	}
	times, err := beside.ReadTimes(args[0])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch o.format {
	case veronaFormat:
		data, err := attest.Verona(run, times)
		return errors.Join(err, cli.WriteOut(cmd, o.out, data))
	case evalFormat:
		l, err := ledgerio.Read(args[0])
		if err != nil {
			return err
		}
		set, task, _ := strings.Cut(o.benchmark, ":")
		if task == "" {
			return cli.Usagef("--benchmark %q: expected a data set and a task, as in user/dataset:task", o.benchmark)
		}
		data, err := attest.EvalResults(run, l.Digest, set, task, o.radii...)
		if err != nil {
			return err
		}
		return cli.WriteOut(cmd, o.out, data)
	}
	return o.table(cmd, run.Rows, times)
}

func (o *exportOptions) table(cmd *cobra.Command, rows rs.Rows, times []beside.Time) error {
	return atomicfile.To(o.out, cmd.OutOrStdout(), func(w io.Writer) error {
		return certlog.Write(w, o.format, rows, times)
	})
}
