// Package kernel is "certspec kernel".
package kernel

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/jupyter"
)

// Command makes the command.
func Command() *cobra.Command {
	install := &cobra.Command{
		Use:   "install",
		Short: "Build GoNB and register it for every Jupyter of this user",
		Long: "Build GoNB, goimports and gopls into the cache and register the kernel \"" + jupyter.DisplayName + "\"\n" +
			"in the user's Jupyter folder (JUPYTER_DATA_DIR names another). A new notebook with this kernel\n" +
			"can import certspec's packages in its first cell.",
		Args: cli.NoArgs,
	}
	asJSON := cli.JSON(install)
	install.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := jupyter.DataDir()
		if err != nil {
			return err
		}
		kernel, err := jupyter.Install(cmd.Context(), dir, cli.Version(), cli.Progress())
		if err != nil {
			return err
		}
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), kernel)
		}
		cli.Fprintf(cmd.OutOrStdout(), "kernel %q registered in %s\nnotebooks import the packages of %s\n",
			jupyter.DisplayName, kernel.Dir, kernel.Module)
		if !kernel.XLA {
			cli.Say("no C compiler found: cells are built without XLA, and models run on the slower Go engine")
		}
		return nil
	}
	uninstall := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the kernel from the user's Jupyter folder",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := jupyter.DataDir()
			if err != nil {
				return err
			}
			found, err := jupyter.Uninstall(dir)
			if err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("no kernel %q is registered in %s", jupyter.DisplayName, dir)
			}
			cli.Fprintf(cmd.OutOrStdout(), "kernel %q removed from %s\n", jupyter.DisplayName, dir)
			return nil
		},
	}
	return cli.Noun("kernel", "Register the Jupyter kernel \""+jupyter.DisplayName+"\"", "", install, uninstall)
}
