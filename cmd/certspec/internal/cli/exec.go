package cli

import (
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/pipemodel"
)

// program is a program in the place of a model file.
type program struct {
	command string
	options pipemodel.Options
	timeout time.Duration
}

func (p *program) flags(f *Flags) {
	f.StringVar(&p.command, "exec", "", `in the place of --model: a program that serves one, e.g. "python my_model.py", split into words as a shell does; see pipemodel/PROTOCOL.md`)
	f.completed["exec"] = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	f.IntVar(&p.options.Processes, "exec-processes", 1, "how many of that program run at once")
	f.DurationVar(&p.timeout, "exec-timeout", 5*time.Minute, "longest wait for that program, to start and to answer a batch")
}

// open starts the program.
func (p *program) open() (*pipemodel.Model, error) {
	if p.options.Processes < 1 || p.timeout <= 0 {
		return nil, Usagef("--exec-processes %d, --exec-timeout %v: expected more than 0", p.options.Processes, p.timeout)
	}
	words, err := splitWords(p.command)
	if err != nil {
		return nil, err
	}
	p.options.StartTimeout, p.options.BatchTimeout = p.timeout, p.timeout
	m, err := pipemodel.Open(words, p.options)
	if err != nil {
		return nil, UsageError{err}
	}
	return m, nil
}

// splitWords splits a command at blanks, as a shell does: quotes and backslashes keep a word together. No shell runs it, so
// what is special to a shell beyond that is refused, or, as $, ~ and *, an ordinary character.
func splitWords(command string) ([]string, error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(command)
	switch {
	case err != nil || parser.Position >= 0:
		return nil, Usagef(`--exec %q: expected a program and its arguments; no shell runs them, so quote ; & | < > ( ) or name "sh -c '…'"`, command)
	case len(words) == 0:
		return nil, Usagef("--exec %q: expected a program and its arguments", command)
	}
	return words, nil
}
