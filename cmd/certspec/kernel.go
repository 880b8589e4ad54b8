package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/jupyter"
)

func init() { verbs = append(verbs, kernelCommand) }

func kernelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Register the Jupyter kernel \"" + jupyter.DisplayName + "\"",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	install := &cobra.Command{
		Use:   "install",
		Short: "Build GoNB and register it for every Jupyter of this user",
		Long: "Build GoNB, goimports and gopls into the cache and register the kernel \"" + jupyter.DisplayName + "\"\n" +
			"in the user's Jupyter folder (JUPYTER_DATA_DIR names another). A new notebook with this kernel\n" +
			"can import certspec's packages in its first cell.",
		Args: noArgs,
	}
	asJSON := jsonFlag(install)
	install.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := jupyter.DataDir()
		if err != nil {
			return err
		}
		kernel, err := jupyter.Install(cmd.Context(), dir, version(), say)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), kernel)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "kernel %q registered in %s\nnotebooks import the packages of %s\n",
			jupyter.DisplayName, kernel.Dir, kernel.Module)
		if !kernel.XLA {
			say("no C compiler found: cells are built without XLA, and models run on the slower Go engine")
		}
		return nil
	}
	uninstall := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the kernel from the user's Jupyter folder",
		Args:  noArgs,
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
			fmt.Fprintf(cmd.OutOrStdout(), "kernel %q removed from %s\n", jupyter.DisplayName, dir)
			return nil
		},
	}
	cmd.AddCommand(install, uninstall)
	return cmd
}

// noArgs refuses arguments as a wrong use of the command line.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument and got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
