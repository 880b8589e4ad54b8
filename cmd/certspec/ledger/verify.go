package ledger

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Verified is the line of a file that "ledger verify" prints.
type Verified struct {
	File string `json:"file"`
	OK   bool   `json:"ok"`
	rs.Verified
	Line   int    `json:"line,omitempty"` // where something does not hold
	Reason string `json:"reason,omitempty"`
}

// verifyOptions holds the values of the flags of "ledger verify".
type verifyOptions struct {
	json *bool
}

func verifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Derive every claim again from the counts; fails with line and reason",
		Long: `Derive again all that follows from the counts of closed ledgers, and compare it decimal for decimal.

That is the digest, the looks that the rule announces, the bounds, radii and claims, the average certified
radius and the certified accuracies. The exit code is 0 only if everything holds.

Files of certspec ood are checked likewise: each line, claims and digest. The command certcheck verifies
ledgers with other code that shares nothing with this program. Only certspec ledger replay can tell that the
numbers are those of the model. With --json, there is one object per file and line.`,
		Example: "  certspec ledger verify out/fmnist-s025.ledger",
		Args:    cli.SomeLedgers,
	}
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *verifyOptions) run(cmd *cobra.Command, files []string) error {
	var failed error
	for _, file := range files {
		v, text, err := verify(cmd.Context(), file)
		failed = errors.Join(failed, err)
		switch {
		case *o.json:
			if err := cli.PrintLines(cmd.OutOrStdout(), outcome(file, v, err)); err != nil {
				return err
			}
		case err == nil:
			if _, err := cli.Fprintf(cmd.OutOrStdout(), "%s: holds: %s\n", file, text); err != nil {
				return err
			}
		}
	}
	return failed
}

func outcome(file string, v rs.Verified, err error) Verified {
	o := Verified{File: file, OK: err == nil, Verified: v}
	if err == nil {
		return o
	}
	o.Reason = err.Error()
	var format *ledger.FormatError
	var unfinished *rs.UnfinishedError
	switch {
	case errors.As(err, &format):
		o.Line, o.Reason = format.Line, format.Reason
	case errors.As(err, &unfinished):
		o.Line = unfinished.Line
	}
	return o
}
