package ledger

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/ood/record"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Merged is what "ledger merge" prints.
type Merged struct {
	Ledger string `json:"ledger"`
	rs.Merged
}

// mergeOptions are what the flags of "ledger merge" ask.
type mergeOptions struct {
	partial bool
	out     string
	json    *bool
}

func mergeCommand() *cobra.Command {
	var o mergeOptions
	cmd := &cobra.Command{
		Use:   "merge -o FILE SHARD…",
		Short: "Join the shards of a run into the file of the whole, byte for byte",
		Long: `Join ledgers of one run, its shards by images or by blocks, into the ledger that one process would have
written, byte for byte. What several ledgers have must be equal; the claims are derived again from
the counts. Ledgers of other settings, another model or other data are refused, and missing or
unfinished shards are named. The output is written in one step; a file with another content stays.
Shards of certspec ood are joined likewise.`,
		Example: "  certspec ledger merge -o out/whole.ledger out/shard-*.ledger",
		Args:    cli.SomeLedgers,
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.partial, "partial", false,
			"shards may be missing or unfinished: the output is then unfinished, and certify without --shard goes "+
				"on with it")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "file to write") })
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *mergeOptions) run(cmd *cobra.Command, files []string) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	if isOOD(files[0]) {
		if o.partial {
			return cli.Usagef("--partial with %s, a file of certspec ood: expected all shards", files[0])
		}
		m, err := record.Merge(cmd.Context(), o.out, files)
		if err != nil {
			return err
		}
		if *o.json {
			return cli.PrintJSON(cmd.OutOrStdout(), replayedOOD{File: o.out, Digest: m.Digest, Images: len(m.Lines)})
		}
		_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %d images of %d shards\n", o.out, len(m.Lines), len(files))
		return err
	}
	var m rs.Merged
	stdout := cli.SummaryAside(cmd, o.out)
	err := atomicfile.ToNamed(o.out, stdout, func(path string) (err error) {
		m, err = rs.Merge(cmd.Context(), path, files, o.partial)
		if path != o.out { // a stream holds the ledger; the shards keep their times
			os.Remove(ledger.TimesPath(path))
		}
		return err
	})
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), Merged{o.out, m})
	}
	state := "closed"
	if !m.Complete {
		state = "unfinished"
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %s: %v\n", o.out, state, m)
	return err
}
