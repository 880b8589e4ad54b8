package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// firstKey is the annotation of a command that names the flags that matter first.
const firstKey = "certspec_first"

// First says which flags of a command matter first. Help shows them before all groups.
func First(cmd *cobra.Command, names ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[firstKey] = strings.Join(names, " ")
}

// dress gives a command and those below it help by groups.
func dress(cmd *cobra.Command) {
	cmd.SetUsageFunc(usage)
	for _, sub := range cmd.Commands() {
		if sub.Flags().Lookup("help") == nil {
			sub.Flags().BoolP("help", "h", false, "help for "+sub.Name())
		}
		dress(sub)
	}
}

// width is that of a line of help.
const width = 110

// usage writes what a command takes.
func usage(cmd *cobra.Command) error {
	var s strings.Builder
	s.WriteString("Usage:\n")
	if _, noun := cmd.Annotations[nounKey]; !noun && cmd.Runnable() {
		fmt.Fprintf(&s, "  %s\n", cmd.UseLine())
	}
	if hasCommands(cmd) {
		fmt.Fprintf(&s, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&s, "\nExamples:\n%s\n", cmd.Example)
	}
	if hasCommands(cmd) {
		s.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&s, "  %-*s %s\n", cmd.Commands()[0].NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	first := strings.Fields(cmd.Annotations[firstKey])
	section(&s, cmd, "What matters first", func(f *pflag.Flag) bool { return slices.Contains(first, f.Name) })
	for _, group := range groups {
		section(&s, cmd, group, func(f *pflag.Flag) bool {
			return slices.Equal(f.Annotations[groupKey], []string{group}) && !slices.Contains(first, f.Name)
		})
	}
	section(&s, cmd, "Help", func(f *pflag.Flag) bool { return f.Annotations[groupKey] == nil })
	if hasCommands(cmd) {
		fmt.Fprintf(&s, "\n%s COMMAND -h says more about a command.\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), s.String())
	return err
}

func hasCommands(cmd *cobra.Command) bool { return cmd.HasAvailableSubCommands() }

// section writes the flags that belong to it, in the order in which they were added.
func section(s *strings.Builder, cmd *cobra.Command, title string, belongs func(*pflag.Flag) bool) {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	cmd.LocalFlags().SortFlags = false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if belongs(f) {
			set.AddFlag(f)
		}
	})
	if set.HasAvailableFlags() {
		fmt.Fprintf(s, "\n%s:\n%s", title, set.FlagUsagesWrapped(width))
	}
}
