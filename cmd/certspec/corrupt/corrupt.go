// Package corrupt is "certspec corrupt".
package corrupt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("corrupt", "Corrupt images as CIFAR-C, C-bar and CIFAR-F do",
		`Corrupt images as the published benchmarks do: the corruptions of CIFAR-C and C-bar at five severities, and
the noise in rings of the spectrum of CIFAR-F. The bytes depend on the images, the setting, the seed, the name of the
base set and each image's index alone.`,
		listCommand(), applyCommand(), makeCommand())
}

func listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the corruptions with family, group and severities",
		Args:  cli.NoArgs,
	}
	asJSON := cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list := corrupt.List()
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), list)
		}
		w := cli.Columns(cmd.OutOrStdout())
		fmt.Fprintln(w, "NAME\tFAMILY\tGROUP\tSEVERITIES\tWHAT")
		for _, i := range list {
			severities := make([]string, len(i.Severities))
			for k, s := range i.Severities {
				severities[k] = strconv.FormatFloat(s, 'g', -1, 64)
			}
			text := strings.Join(severities, " ")
			if i.Family == corrupt.F {
				text = "ε " + text
			}
			cli.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, i.Family, i.Group, text, i.Description)
		}
		return w.Flush()
	}
	return cmd
}
