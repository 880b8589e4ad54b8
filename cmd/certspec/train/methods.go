package train

import (
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/gomlxmodels/method"
)

func methodsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "methods",
		Short: "List the methods of training with their options and defaults",
		Args:  cli.NoArgs,
	}
	asJSON := cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, out := method.List(), cmd.OutOrStdout()
		if *asJSON {
			return cli.PrintJSON(out, list)
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, e := range list {
			cli.Fprintf(w, "%s\t%s\n", e.Name, e.Description)
			for _, o := range e.Options {
				cli.Fprintf(w, "  %s=%s\t  %s\n", o.Key, o.Value, o.Usage)
			}
		}
		return w.Flush()
	}
	return cmd
}
