package ledger

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/rs"
)

// canonical is what "ledger canonical" prints.
type canonical struct {
	Ledger string `json:"ledger"`
	Closed bool   `json:"closed"`
}

// canonicalOptions are what the flags of "ledger canonical" ask.
type canonicalOptions struct {
	out  string
	json *bool
}

func canonicalCommand() *cobra.Command {
	var o canonicalOptions
	cmd := &cobra.Command{
		Use:   "canonical -o FILE LEDGER",
		Short: "Write what of an interrupted ledger stays: no provisional lines, no torn tail",
		Long: `Write the canonical form of a ledger: what of an interrupted run stays whatever happens next. Provisional
lines and a torn tail are dropped; where all images are decided, claims and digest follow from the
counts. A closed ledger is its own canonical form.`,
		Example: "  certspec ledger canonical -o out/kept.ledger out/interrupted.ledger",
		Args:    cli.OneLedger,
	}
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "file to write") })
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *canonicalOptions) run(cmd *cobra.Command, args []string) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	var closed bool
	stdout := cli.SummaryAside(cmd, o.out)
	err := atomicfile.ToNamed(o.out, stdout, func(path string) (err error) {
		closed, err = rs.Canonical(cmd.Context(), path, args[0])
		return err
	})
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), canonical{o.out, closed})
	}
	state := "closed"
	if !closed {
		state = "unfinished; the same certify goes on with it"
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %s\n", o.out, state)
	return err
}
