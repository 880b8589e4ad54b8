// Package cli holds what the commands of certspec share: flags in groups and their completion, the
// opening of models and images, progress, output, and errors in the words of the command line.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/printable"
)

// Root makes the command that has all others.
func Root(commands ...*cobra.Command) *cobra.Command {
	root := Noun("certspec", "Certified robustness of image classifiers: train, certify, read the result", "",
		commands...)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = Version()
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = checkOutputs
	root.AddCommand(topicCommands()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	dress(root)
	return root
}

// Run runs a command line and gives the exit code. The first interrupt, or a batch system's signal, asks for a stop.
func Run(root *cobra.Command, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals...)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second interrupt ends the program at once
	}()
	root.SetArgs(args)
	raw := &checkedWriter{Writer: os.Stdout}
	out, errs := &textWriter{printable.NewWriter(raw), raw}, printable.NewWriter(os.Stderr)
	root.SetOut(out)
	root.SetErr(errs)
	cmd, err := root.ExecuteContextC(ctx)
	out.Flush()
	if err == nil && raw.err != nil {
		err = fmt.Errorf("the output is not complete: %w", raw.err)
	}
	var usage UsageError
	var noVerdict NoVerdict
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintln(errs, "certspec:", movedIn(strings.TrimPrefix(err.Error(), "certspec ")))
		return ExitUsage
	case errors.As(err, &noVerdict):
		fmt.Fprintln(errs, "certspec:", movedIn(inWords(err)))
		return exitNoVerdict
	case errors.Is(err, ErrUndecided):
		fmt.Fprintln(errs, "certspec:", err)
		return exitUnknown
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(errs, "certspec: stopped on request; "+left(cmd))
		return ExitStopped
	default:
		fmt.Fprintln(errs, "certspec:", movedIn(inWords(err)))
		return ExitFailed
	}
}

// recordsKey is the annotation of a command that goes on where it was stopped: the flags that name
// what records its work, any of which is enough; "*": it always does.
const recordsKey = "certspec_records"

// Records marks a command that goes on where it was stopped, if one of the flags is given; with none, always.
func Records(cmd *cobra.Command, flags ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	if cmd.Annotations[recordsKey] = "*"; len(flags) > 0 {
		cmd.Annotations[recordsKey] = strings.Join(flags, " ")
	}
}

// left says what a stopped command leaves, and how it goes on.
func left(cmd *cobra.Command) string {
	flags := strings.Fields(cmd.Annotations[recordsKey])
	changed := func(flag string) bool { return flag == "*" || cmd.Flags().Changed(flag) }
	switch {
	case slices.ContainsFunc(flags, changed):
		return "run the same command again to go on"
	case len(flags) > 0:
		return "nothing was recorded: with --" + flags[0] + " the same command goes on where it was"
	}
	return "nothing was recorded, and the same command begins anew"
}

// movedIn moves further lines of an error in, so that no name in it can look like another message.
func movedIn(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = printable.Line(line); len(lines) > 0 && line != "" {
			line = "  " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// nounKey is the annotation of a command that does nothing by itself.
const nounKey = "certspec_noun"

// Noun makes a command that has others and does nothing by itself.
func Noun(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return Usagef("unknown command %q%s %s -h lists the commands", args[0], then(meant(cmd, args[0])),
				cmd.CommandPath())
		},
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Annotations: map[string]string{nounKey: ""},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// meant is "; did you mean NAME?" of a word that is no command here: all commands anywhere that have
// it as their name or as a word for what they do (SuggestFor); else one here with nearly that name;
// else one anywhere.
func meant(cmd *cobra.Command, word string) string {
	var exact, here, last []string
	pathOf := map[string]string{} // of a last word
	var visit func(of *cobra.Command)
	visit = func(of *cobra.Command) {
		for _, sub := range of.Commands() {
			if !sub.IsAvailableCommand() || sub.Name() == "completion" {
				continue
			}
			path := sub.CommandPath()
			if cmd == cmd.Root() {
				path = strings.TrimPrefix(path, cmd.Name()+" ")
			}
			if sub.Name() == word || slices.Contains(sub.SuggestFor, word) {
				exact = append(exact, path)
			}
			if of == cmd {
				here = append(here, sub.Name())
			} else if _, known := pathOf[sub.Name()]; !known {
				last, pathOf[sub.Name()] = append(last, sub.Name()), path
			}
			visit(sub)
		}
	}
	visit(cmd.Root())
	if len(exact) > 0 {
		return "; did you mean " + List(exact) + "?"
	}
	if near := nearest.DidYouMean(word, here); near != "" {
		return near
	}
	if nearest.DidYouMean(word, last) != "" {
		return "; did you mean " + pathOf[nearest.Of(word, last)] + "?"
	}
	return ""
}

// NoArgs refuses arguments as a wrong use.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no argument and got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// OneModel takes the model that a command works on, as its argument or as --model.
func OneModel(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return Usagef("%s wants one model, got %q", cmd.CommandPath(), args)
	case cmd.Flags().Changed("model"):
		return Usagef("%s wants one model, got %q and --model", cmd.CommandPath(), args[0])
	}
	return cmd.Flags().Set("model", args[0])
}

// OneLedger wants exactly one file.
func OneLedger(cmd *cobra.Command, files []string) error {
	if len(files) != 1 {
		return Usagef("%s wants one ledger, got %d", cmd.CommandPath(), len(files))
	}
	return nil
}

// SomeLedgers wants at least one file.
func SomeLedgers(cmd *cobra.Command, files []string) error {
	if len(files) == 0 {
		return Usagef("%s wants at least one ledger", cmd.CommandPath())
	}
	return nil
}

// CommandLine writes arguments as one would type them.
func CommandLine(args []string) string {
	words := []string{"certspec"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'$&|;<>()[]*?\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
