package ledger

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Merged is what "ledger merge" prints.
type Merged struct {
	Ledger string `json:"ledger"`
	rs.Merged
}

func mergeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge -o FILE SHARD…",
		Short: "Join the shards of a run into the ledger of the whole, byte for byte",
		Long: `Join ledgers of one run, its shards by images or by blocks, into the ledger that one process would have
written, byte for byte. What several ledgers have must be equal; the claims are derived again from
the counts. Ledgers of other settings, another model or other data are refused, and missing or
unfinished shards are named. The output is written in one step; a file with another content stays.`,
		Example: "  certspec ledger merge -o out/whole.ledger out/shard-*.ledger",
		Args:    cli.SomeLedgers,
	}
	var (
		out     string
		partial bool
	)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&partial, "partial", false, "shards may be missing or unfinished: the output is then unfinished, and certify without --shard goes on with it")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&out, "file to write") })
	asJSON := cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if err := cli.Needed(cmd, "out"); err != nil {
			return err
		}
		var m rs.Merged
		stdout := cmd.OutOrStdout()
		cli.SummaryAside(cmd, out)
		err := atomicfile.ToNamed(out, stdout, func(path string) (err error) {
			m, err = rs.Merge(cmd.Context(), path, files, partial)
			if path != out { // a stream holds the ledger; the shards keep their times
				os.Remove(ledger.TimesPath(path))
			}
			return err
		})
		if err != nil {
			return err
		}
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), Merged{out, m})
		}
		state := "closed"
		if !m.Complete {
			state = "unfinished"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s: %v\n", out, state, m)
		return err
	}
	return cmd
}
