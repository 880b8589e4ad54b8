package main

import (
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/pipemodel"
)

// execFlags adds --exec, which names a program in the place of --model. The function starts it.
func execFlags(cmd *cobra.Command) (open func() (*pipemodel.Model, error)) {
	var (
		command string
		o       pipemodel.Options
		timeout time.Duration
	)
	f := cmd.Flags()
	f.StringVar(&command, "exec", "", `in the place of --model: a program that serves one, e.g. "python my_model.py", split into words as a shell does; see pipemodel/PROTOCOL.md`)
	f.IntVar(&o.Processes, "exec-processes", 1, "how many of that program run at once")
	f.DurationVar(&timeout, "exec-timeout", 5*time.Minute, "longest wait for that program, to start and to answer a batch")
	return func() (*pipemodel.Model, error) {
		if o.Processes < 1 || timeout <= 0 {
			return nil, usagef("--exec-processes %d, --exec-timeout %v: expected more than 0", o.Processes, timeout)
		}
		words, err := splitWords(command)
		if err != nil {
			return nil, err
		}
		o.StartTimeout, o.BatchTimeout = timeout, timeout
		m, err := pipemodel.Open(words, o)
		if err != nil {
			return nil, usageError{err}
		}
		return m, nil
	}
}

// splitWords splits a command at blanks, as a shell does: quotes and backslashes keep a word together. No shell runs it, so
// what is special to a shell beyond that is refused, or, as $, ~ and *, an ordinary character.
func splitWords(command string) ([]string, error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(command)
	switch {
	case err != nil || parser.Position >= 0:
		return nil, usagef(`--exec %q: expected a program and its arguments; no shell runs them, so quote ; & | < > ( ) or name "sh -c '…'"`, command)
	case len(words) == 0:
		return nil, usagef("--exec %q: expected a program and its arguments", command)
	}
	return words, nil
}
