package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// firstKey is the annotation of a command that names its common flags.
const firstKey = "certspec_first"

// First names the common flags of a command. Help shows them before all groups, and -h no others.
func First(cmd *cobra.Command, names ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[firstKey] = strings.Join(names, " ")
}

// dress gives a command and those below it help by groups.
func dress(cmd *cobra.Command) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		page := Help(cmd)
		if slices.Contains(args, "-h") && !slices.Contains(args, "--help") {
			page = ShortHelp(cmd)
		}
		fmt.Fprint(cmd.OutOrStdout(), page)
	})
	if cmd.Flags().Lookup("help") == nil {
		cmd.Flags().BoolP("help", "h", false, "help for "+cmd.Name())
	}
	for _, sub := range cmd.Commands() {
		dress(sub)
	}
}

// Help is written in lines of this width, of which -h prints at most so many.
const (
	width     = 110
	helpLines = 40
)

// Help is all that a command says of itself, its flags in groups.
func Help(cmd *cobra.Command) string {
	if cmd.IsAdditionalHelpTopicCommand() {
		return cmd.Long
	}
	first := commonFlags(cmd)
	s := about(cmd, cmd.Long, cmd.Example)
	section(s, cmd, "Common flags", func(f *pflag.Flag) bool { return slices.Contains(first, f.Name) })
	for _, group := range groups {
		section(s, cmd, group, func(f *pflag.Flag) bool {
			return slices.Equal(f.Annotations[groupKey], []string{group}) && !slices.Contains(first, f.Name)
		})
	}
	s.WriteString("\n")
	if hasCommands(cmd) {
		fmt.Fprintf(s, "%s COMMAND -h says more about a command.\n", cmd.CommandPath())
	}
	return s.String() + topicsOf(cmd)
}

// ShortHelp is Help where that is short, else its beginning: what the command does, two examples and the common flags.
func ShortHelp(cmd *cobra.Command) string {
	page := Help(cmd)
	if strings.Count(page, "\n") <= helpLines {
		return page
	}
	first := commonFlags(cmd)
	long, _, _ := strings.Cut(cmd.Long, "\n\n")
	examples := strings.SplitAfterN(cmd.Example, "\n", 3)
	s := about(cmd, long, strings.TrimRight(strings.Join(examples[:min(2, len(examples))], ""), "\n"))
	section(s, cmd, "Common flags", func(f *pflag.Flag) bool { return slices.Contains(first, f.Name) })
	flags := 0
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags++
		}
	})
	fmt.Fprintf(s, "\n%s --help says more, and shows all %d flags.\n", cmd.CommandPath(), flags)
	return s.String() + topicsOf(cmd)
}

func commonFlags(cmd *cobra.Command) []string { return strings.Fields(cmd.Annotations[firstKey]) }

// about begins a page of help.
func about(cmd *cobra.Command, long, examples string) *strings.Builder {
	s := new(strings.Builder)
	if long == "" {
		long = cmd.Short
	}
	fmt.Fprintf(s, "%s\n\nUsage:\n", reflow(long))
	if _, noun := cmd.Annotations[nounKey]; !noun && cmd.Runnable() {
		fmt.Fprintf(s, "  %s\n", cmd.UseLine())
	}
	if hasCommands(cmd) {
		fmt.Fprintf(s, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if examples != "" {
		fmt.Fprintf(s, "\nExamples:\n%s\n", examples)
	}
	if hasCommands(cmd) {
		s.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "completion" {
				fmt.Fprintf(s, "  %-*s %s\n", cmd.Commands()[0].NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	return s
}

func hasCommands(cmd *cobra.Command) bool { return cmd.HasAvailableSubCommands() }

// reflow fills the lines of each paragraph. One with columns or an indented line stays as it is.
func reflow(long string) string {
	paragraphs := strings.Split(strings.TrimSpace(long), "\n\n")
	for i, p := range paragraphs {
		if strings.Contains(p, "  ") {
			continue
		}
		var s strings.Builder
		column := 0
		for word := range strings.FieldsSeq(p) {
			n := utf8.RuneCountInString(word)
			switch {
			case column == 0:
			case column+1+n > width:
				s.WriteByte('\n')
				column = 0
			default:
				s.WriteByte(' ')
				column++
			}
			s.WriteString(word)
			column += n
		}
		paragraphs[i] = s.String()
	}
	return strings.Join(paragraphs, "\n\n")
}

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
