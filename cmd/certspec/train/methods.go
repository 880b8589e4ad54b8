package train

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/gomlxmodels/method"
)

// list prints the methods of training with their options and defaults.
func list(cmd *cobra.Command, asJSON bool) error {
	all := method.List()
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	w := cli.Columns(cmd.OutOrStdout())
	for _, e := range all {
		cli.Fprintf(w, "%s\t%s\n", e.Name, e.Description)
		for _, o := range e.Options {
			cli.Fprintf(w, "  %s=%s\t  %s\n", o.Key, o.Value, o.Usage)
		}
	}
	return w.Flush()
}
