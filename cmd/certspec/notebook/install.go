package notebook

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/jupyter"
)

// installOptions holds the values of the flags of "notebook install".
type installOptions struct {
	remove bool
	json   *bool
}

func installCommand() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Register the kernel \"" + jupyter.DisplayName + "\" for every Jupyter of this user, or remove it",
		Long: "Build GoNB, goimports and gopls into the cache and register the kernel \"" + jupyter.DisplayName +
			"\"\n" +
			"in the user's Jupyter folder (JUPYTER_DATA_DIR names another). A new notebook with this kernel\n" +
			"can import certspec's packages in its first cell.",
		Args: cli.NoArgs,
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.remove, "remove", false, "remove the kernel from the user's Jupyter folder")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *installOptions) run(cmd *cobra.Command) error {
	dir, err := jupyter.DataDir()
	if err != nil {
		return err
	}
	if o.remove {
		found, err := jupyter.Uninstall(dir)
		if err == nil && !found {
			err = fmt.Errorf("no kernel %q is registered in %s", jupyter.DisplayName, dir)
		}
		if err != nil {
			return err
		}
		cli.Say("kernel %q removed from %s", jupyter.DisplayName, dir)
		return nil
	}
	kernel, err := jupyter.Install(cmd.Context(), dir, cli.Version(), false, cli.Progress())
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), kernel)
	}
	cli.Fprintf(cmd.OutOrStdout(), "kernel %q registered in %s\nnotebooks import the packages of %s\n",
		jupyter.DisplayName, kernel.Dir, kernel.Module)
	if !kernel.XLA {
		cli.Say("no C compiler found: cells are built without XLA, and models run on the slower Go engine")
	}
	return nil
}
