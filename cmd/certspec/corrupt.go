package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/corrupt"
)

func init() { verbs = append(verbs, corruptCommand) }

func corruptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "corrupt",
		Short: "Spoil images as CIFAR-C, C-bar and CIFAR-F do",
		Long: `Spoil images as the published benchmarks do: the corruptions of CIFAR-C and C-bar at five severities, and
the noise in rings of the spectrum of CIFAR-F. The bytes depend on the images, the setting, the seed, the name of the base set and
each image's index alone.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(corruptListCommand(), corruptApplyCommand(), corruptMakeCommand())
	return cmd
}

func corruptListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the corruptions with family, group and severities",
		Args:  noArgs,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list := corrupt.List()
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), list)
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
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
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, i.Family, i.Group, text, i.Description)
		}
		return w.Flush()
	}
	return cmd
}

// corruptOptions adds the flags that make a corruption another one than the default.
func corruptOptions(cmd *cobra.Command, s *corrupt.Setting) {
	f := cmd.Flags()
	f.BoolVar(&s.GlassSwap, "glass-swap", false, "glass_blur: exchange pixels, instead of copying them as in the published data")
	f.BoolVar(&s.Archive, "fourier-archive", false, "fourier: as the authors' archive computes it, instead of the paper")
	f.StringVar(&s.Photographs, "photographs", "", "frost: folder of photographs of frost, of which the first five by name are used (default a drawn substitute)")
}

// corruptUsage marks a setting that no corruption knows as a wrong use.
func corruptUsage(err error) error {
	var unknown *corrupt.UnknownError
	var setting *corrupt.SettingError
	if errors.As(err, &unknown) || errors.As(err, &setting) {
		return usageError{err}
	}
	return err
}
