package cli

import (
	"cmp"
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
	switch {
	case !hasCommands(cmd):
	case cmd.HasParent():
		s.WriteString("\nCommands:\n")
		of := commandsOf(cmd)
		listCommands(s, of[""])
		if len(of[papers]) > 0 {
			s.WriteString("\nCommands for papers:\n")
			listCommands(s, of[papers])
		}
	default:
		s.WriteString("\n")
		of := commandsOf(cmd)
		for _, task := range tasks {
			title := task.title
			for _, sub := range of[task.title] {
				fmt.Fprintf(s, "%-17s  %-11s %s\n", title, sub.Name(), sub.Short)
				title = ""
			}
			if also := forPapers(cmd); task.title == papers && also != nil {
				fmt.Fprintf(s, "%-17s  also        %s\n", "", strings.Join(also, ", "))
			}
		}
	}
	return s
}

// taskKey is the annotation of a command that names its task, where that is not the one of the table below.
const taskKey = "certspec_task"

// papers is the task of commands that serve the tables of a paper alone.
const papers = "papers"

// tasks of people, in the order of the first page of help, with its commands.
var tasks = []struct{ title, commands string }{
	{"certify", "preflight plan certify prove predict sweep merge bound"},
	{"compare and check", "ledger report gate attack evaluate lines"},
	{"calibrate", "calib"},
	{"OOD", "ood"},
	{"spectra", "spectral"},
	{"corruptions", "corrupt augment"},
	{"train", "train quantize join import export"},
	{papers, "experiment adapt interpolate"},
	{"set up", "dataset backend notebook version"},
}

// ForPapers marks a command below another as one that serves the tables of a paper alone.
func ForPapers(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[taskKey] = papers
	return cmd
}

// commandsOf are the commands below one by their tasks, in the order of the tasks; "" is none.
func commandsOf(cmd *cobra.Command) map[string][]*cobra.Command {
	of := map[string][]*cobra.Command{}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			of[taskOf(sub)] = append(of[taskOf(sub)], sub)
		}
	}
	for _, task := range tasks {
		order := strings.Fields(task.commands)
		slices.SortStableFunc(of[task.title], func(a, b *cobra.Command) int {
			return cmp.Compare(slices.Index(order, a.Name()), slices.Index(order, b.Name()))
		})
	}
	return of
}

// taskOf is the task of a command.
func taskOf(cmd *cobra.Command) string {
	if cmd.Parent() == cmd.Root() {
		for _, task := range tasks {
			if slices.Contains(strings.Fields(task.commands), cmd.Name()) {
				return task.title
			}
		}
	}
	return cmd.Annotations[taskKey]
}

// forPapers are the commands below others that serve papers alone.
func forPapers(root *cobra.Command) (all []string) {
	for _, of := range root.Commands() {
		for _, sub := range commandsOf(of)[papers] {
			all = append(all, of.Name()+" "+sub.Name())
		}
	}
	return all
}

// listCommands writes a line for each command.
func listCommands(s *strings.Builder, commands []*cobra.Command) {
	for _, sub := range commands {
		fmt.Fprintf(s, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
	}
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
