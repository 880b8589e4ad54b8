package ledger

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/rs"
)

// canonicalForm is the output of "ledger export --format canonical".
type canonicalForm struct {
	Ledger string `json:"ledger"`
	Closed bool   `json:"closed"`
}

// canonical writes what of an interrupted ledger stays whatever happens next.
func (o *exportOptions) canonical(cmd *cobra.Command, ledger string) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	var closed bool
	stdout := cli.SummaryAside(cmd, o.out)
	err := atomicfile.ToNamed(o.out, stdout, func(path string) (err error) {
		closed, err = rs.Canonical(cmd.Context(), path, ledger)
		return err
	})
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), canonicalForm{o.out, closed})
	}
	state := "closed"
	if !closed {
		state = "unfinished; the same certify goes on with it"
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %s\n", o.out, state)
	return err
}
