package main

import (
	"github.com/spf13/cobra"
)

func init() { verbs = append(verbs, ledgerCommand) }

func ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Ledgers: describe, verify, merge, canonical form, export, replay, cite",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(ledgerInfoCommand(), ledgerVerifyCommand(), ledgerMergeCommand(), ledgerCanonicalCommand(),
		ledgerExportCommand(), ledgerReplayCommand(), ledgerCiteCommand())
	return cmd
}

// oneFile wants exactly one file.
func oneFile(cmd *cobra.Command, files []string) error {
	if len(files) != 1 {
		return usagef("%s wants one ledger, got %d", cmd.CommandPath(), len(files))
	}
	return nil
}

// someFiles wants at least one file.
func someFiles(cmd *cobra.Command, files []string) error {
	if len(files) == 0 {
		return usagef("%s wants at least one ledger", cmd.CommandPath())
	}
	return nil
}
