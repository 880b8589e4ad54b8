package ledger

import (
	"errors"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// canonicalFormat is a ledger again.
const canonicalFormat certlog.Format = "canonical"

// exportOptions are what the flags of "ledger export" ask.
type exportOptions struct {
	format certlog.Format
	out    string
	json   *bool
}

func exportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export LEDGER",
		Short: "Write a ledger as the table that the field publishes, as CSV, or in its canonical form",
		Long: `Write one line per image: idx, label (-1: unknown), predict (-1: abstained), radius, correct and
time, as published
logs have them, then nA (hits), n (noise samples of the look behind the bound), plow (lower bound), nused (those
in all) and misses. Times come from the file beside the ledger, and are empty without one: h:mm:ss in a
TSV, seconds in a CSV.

The format canonical is a ledger again: what of an interrupted run stays whatever happens next. Provisional
lines and a torn tail are dropped; where all images are decided, claims and digest follow from the counts.
A closed ledger is its own canonical form.`,
		Example: "  certspec ledger export out/fmnist-s025.ledger --format csv -o fmnist.csv\n" +
			"  certspec ledger export out/interrupted.ledger --format canonical -o out/kept.ledger",
		Args: cli.OneLedger,
	}
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file to write (default standard output)")
		cli.Choice(f, &o.format, "format", certlog.TSV, "tsv, csv or canonical", certlog.TSV, certlog.CSV,
			canonicalFormat)
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *exportOptions) run(cmd *cobra.Command, args []string) error {
	if o.format == canonicalFormat {
		return o.canonical(cmd, args[0])
	}
	if *o.json {
		return cli.Usagef("--json goes with --format canonical: tsv and csv are tables themselves")
	}
	run, err := rs.Open(args[0])
	if err != nil {
		return err
	}
	if s := run.Header.Shard; s != nil && s.By == ledger.ShardBlocks {
		return errors.New(args[0] + ": a shard by blocks certifies no image by itself: merge all shards first")
	}
	if !run.Complete() {
		cli.Say("not complete: %d of %d images", len(run.Rows), run.Images())
	}
	times, err := ledger.ReadTimes(args[0])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.To(o.out, cmd.OutOrStdout(), func(w io.Writer) error {
		return certlog.Write(w, o.format, run.Rows,
			times)
	})
}
