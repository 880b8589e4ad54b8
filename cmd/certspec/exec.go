package main

import (
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pipemodel"
)

// execFlags adds --exec, which names a program in the place of --model. The function opens what was named.
func execFlags(cmd *cobra.Command) (open func(model, onEngine string) (m classifier.Classifier, end func() error, err error)) {
	var (
		command string
		o       pipemodel.Options
		timeout time.Duration
	)
	f := cmd.Flags()
	f.StringVar(&command, "exec", "", `in the place of --model: a program that serves one, e.g. "python my_model.py", split into words as a shell does; see pipemodel/PROTOCOL.md`)
	f.IntVar(&o.Processes, "exec-processes", 1, "how many of that program run at once")
	f.DurationVar(&timeout, "exec-timeout", 5*time.Minute, "longest wait for that program, to start and to answer a batch")
	return func(model, onEngine string) (classifier.Classifier, func() error, error) {
		switch {
		case !f.Changed("exec") && model == "":
			return nil, nil, usagef("--model is missing: %s; or --exec", f.Lookup("model").Usage)
		case !f.Changed("exec"):
			m, err := openModel(model, onEngine)
			if err != nil {
				return nil, nil, err
			}
			return m, m.Close, nil
		case model != "" || onEngine != "":
			return nil, nil, usagef("--exec %q with --model or --backend: expected one model", command)
		case o.Processes < 1 || timeout <= 0:
			return nil, nil, usagef("--exec-processes %d, --exec-timeout %v: expected more than 0", o.Processes, timeout)
		}
		words, err := splitWords(command)
		if err != nil {
			return nil, nil, err
		}
		o.StartTimeout, o.BatchTimeout = timeout, timeout
		m, err := pipemodel.Open(words, o)
		if err != nil {
			return nil, nil, usageError{err}
		}
		return m, m.Close, nil
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
