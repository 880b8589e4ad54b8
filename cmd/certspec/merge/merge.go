// Package merge is "certspec merge".
package merge

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/rs"
)

// Merged is the command's output on ledgers.
type Merged struct {
	Ledger string `json:"ledger"`
	rs.Merged
}

// options holds the values of the flags.
type options struct {
	partial bool
	out     string
	json    *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "merge PART… --out PATH",
		Short: "Join the parts of a run into the whole, byte for byte",
		Long: `Join the parts that --shard made into what one process would have written, byte for byte.

Parts are ledgers, by images or by blocks, files of certspec ood, or folders of certspec experiment run. What several
parts have must be equal. Parts of other settings, another model or other data are refused, and missing or unfinished
ones are named. The claims of ledgers are derived again from the counts. A file with another content stays. A folder
of an experiment that is joined into itself gets digests of its results, where it has none.`,
		Example: "  certspec merge out/shard-*.ledger -o out/whole.ledger\n" +
			"  certspec merge out/part0 out/part1 -o out/table2",
		Args: func(cmd *cobra.Command, parts []string) error {
			if len(parts) == 0 {
				return cli.Usagef("%s wants at least one part", cmd.CommandPath())
			}
			return nil
		},
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.partial, "partial", false,
			"parts of a ledger may be missing or unfinished: the output is then unfinished, and certify without "+
				"--shard goes on with it")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.OutPath(&o.out, "file to write, or folder of an experiment") })
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, parts []string) error { return o.run(cmd, parts) }
	return cmd
}

func (o *options) run(cmd *cobra.Command, parts []string) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	printed, text, err := o.join(cmd, parts)
	switch {
	case err != nil:
		return err
	case *o.json:
		return cli.PrintJSON(cmd.OutOrStdout(), printed)
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s\n", text)
	return err
}

// join joins the parts by what the first one is. It gives what is printed, as JSON and as text.
func (o *options) join(cmd *cobra.Command, parts []string) (printed any, text string, err error) {
	info, err := os.Stat(parts[0])
	folders := err == nil && info.IsDir()
	if o.partial && (folders || record.Is(parts[0])) {
		return nil, "", cli.Usagef("--partial with %s, which is no ledger: expected all parts", parts[0])
	}
	if folders {
		added, err := results.Merge(cmd.Context(), o.out, parts)
		return map[string]int{"folders": len(parts), "files": added},
			fmt.Sprintf("%d files of %d folders in %s", added, len(parts), o.out), err
	}
	if record.Is(parts[0]) {
		m, err := record.Merge(cmd.Context(), o.out, parts)
		if err != nil {
			return nil, "", err
		}
		return map[string]any{"file": o.out, "digest": m.Digest, "images": len(m.Lines)},
			fmt.Sprintf("%s: %d images of %d shards", o.out, len(m.Lines), len(parts)), nil
	}
	var m rs.Merged
	stdout := cli.SummaryAside(cmd, o.out)
	err = atomicfile.ToNamed(o.out, stdout, func(path string) (err error) {
		m, err = rs.Merge(cmd.Context(), path, parts, o.partial)
		if path != o.out { // a stream holds the ledger; the shards keep their times
			os.Remove(beside.TimesPath(path))
		}
		return err
	})
	state := "closed"
	if !m.Complete {
		state = "unfinished"
	}
	return Merged{o.out, m}, fmt.Sprintf("%s: %s: %v", o.out, state, m), err
}
