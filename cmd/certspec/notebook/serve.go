package notebook

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/model/serve"
)

// serveCommand holds networks for cells. The kernel's script starts it, and it is in no list.
func serveCommand() *cobra.Command {
	var (
		kernel   int
		checkout string
		since    int64
	)
	cmd := &cobra.Command{
		Use:    "serve SOCKET",
		Short:  "Hold networks for the cells of a notebook",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return serve.Run(args[0], kernel, checkout, time.Unix(since, 0))
		},
	}
	cmd.Flags().IntVar(&kernel, "kernel", 0, "end with this process")
	cmd.Flags().StringVar(&checkout, "checkout", "", "folder that this program was built from")
	cmd.Flags().Int64Var(&since, "since", 0, "when it was built, in seconds of Unix")
	return cmd
}
