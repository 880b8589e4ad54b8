package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/rs"
)

func ledgerCanonicalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "canonical -o FILE LEDGER",
		Short: "Write what of an interrupted ledger stays: no provisional lines, no torn tail",
		Long: `Write the canonical form of a ledger: what of an interrupted run stays whatever happens next. Provisional
lines and a torn tail are dropped; where all images are decided, claims and digest follow from the
counts. A closed ledger is its own canonical form.`,
		Example: "  certspec ledger canonical -o out/kept.ledger out/interrupted.ledger",
		Args:    oneFile,
	}
	out := cmd.Flags().StringP("out", "o", "", "file to write")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := needed(cmd, "out"); err != nil {
			return err
		}
		var closed bool
		stdout := cmd.OutOrStdout()
		summaryAside(cmd, *out)
		err := atomicfile.ToNamed(*out, stdout, func(path string) (err error) {
			closed, err = rs.Canonical(path, args[0])
			return err
		})
		if err != nil {
			return err
		}
		state := "closed"
		if !closed {
			state = "unfinished; the same certify goes on with it"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", *out, state)
		return nil
	}
	return cmd
}
