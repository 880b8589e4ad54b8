// Package ledger is "certspec ledger".
package ledger

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("ledger", "Read, compare, check and export ledgers and published logs", "",
		infoCommand(), metricsCommand(), compareCommand(), plotCommand(), queryCommand(), attestCommand(), verifyCommand(),
		replayCommand(), exportCommand(), startsCommand())
}
