// Command certspec proves things about image classifiers; see certspec help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes of the command line.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 75 // stopped on request: run the same command again to go on
)

// usageError marks a wrong use of the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (e usageError) Unwrap() error { return e.error }

// verbs are the subcommands; each file of this folder adds its own in init.
var verbs []func() *cobra.Command

func main() { os.Exit(run(os.Args[1:])) }

// numbers is a list of numbers, for which pflag's help has no word.
type numbers struct{ pflag.Value }

func (numbers) Type() string { return "floats" }

// tidyHelp keeps help from calling an empty list a default, and names lists of numbers.
func tidyHelp(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.DefValue == "[]" {
			f.DefValue = ""
		}
		if f.Value.Type() == "float64Slice" {
			f.Value = numbers{f.Value}
		}
	})
	for _, sub := range cmd.Commands() {
		tidyHelp(sub)
	}
}

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals...)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second interrupt ends the program at once
	}()
	root := &cobra.Command{
		Use:           "certspec",
		Short:         "Certified robustness of image classifiers: train, certify, read the result",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; certspec help lists the commands", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	for _, verb := range verbs {
		root.AddCommand(verb())
	}
	tidyHelp(root)
	root.SetArgs(args)
	out := &checkedWriter{Writer: os.Stdout}
	root.SetOut(out)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("the output is not complete: %w", out.err)
	}
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "certspec:", strings.TrimPrefix(err.Error(), "certspec "))
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "certspec: stopped on request; run the same command again to go on")
		return exitStopped
	default:
		fmt.Fprintln(os.Stderr, "certspec:", err)
		return exitFailed
	}
}
