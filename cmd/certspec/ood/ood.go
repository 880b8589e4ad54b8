// Package ood is "certspec ood".
package ood

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("ood", "Bound what a network can answer on whole boxes of inputs",
		`Bound what a network can answer when its input moves in a box, and decide properties of it. Bounds hold in exact
arithmetic and for the network's evaluation in float32.`, property())
}
