// Package ledger is "certspec ledger".
package ledger

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("ledger", "Ledgers: describe, verify, merge, canonical form, export, replay, cite", "",
		infoCommand(), verifyCommand(), mergeCommand(), canonicalCommand(), exportCommand(), replayCommand(), citeCommand())
}
