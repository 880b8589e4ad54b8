package cli

import (
	"os"
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/engine/pipe"
)

// program is a program in the place of a model file.
type program struct {
	command string
	files   []int
	options pipe.Options
	timeout time.Duration
}

func (p *program) flags(f *Flags) {
	f.StringVar(&p.command, "exec", "",
		`instead of --model: a program that serves one, e.g. "python my_model.py", split into words `+
			`as a shell does; see engine/pipe/PROTOCOL.md`)
	f.completed["exec"] = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	f.IntSliceVar(&p.files, "exec-fds", nil,
		"instead of --exec: descriptors of two inherited pipes to a program that runs already, the one for "+
			"requests and the one for answers")
	f.IntVar(&p.options.Processes, "exec-processes", 1, "number of that program's processes")
	f.DurationVar(&p.timeout, "exec-timeout", 5*time.Minute,
		"longest wait for that program, to start and to answer a batch")
}

// open starts the program.
func (p *program) open() (*pipe.Model, error) {
	if p.options.Processes < 1 || p.timeout <= 0 {
		return nil, Usagef("--exec-processes %d, --exec-timeout %v: expected more than 0", p.options.Processes,
			p.timeout)
	}
	p.options.StartTimeout, p.options.BatchTimeout = p.timeout, p.timeout
	if p.files != nil {
		return p.inherited()
	}
	words, err := splitWords(p.command)
	if err != nil {
		return nil, err
	}
	m, err := pipe.Open(words, p.options)
	if err != nil {
		return nil, UsageError{err}
	}
	return m, nil
}

// inherited talks with the program at the other ends of the descriptors.
func (p *program) inherited() (*pipe.Model, error) {
	if p.command != "" || p.options.Processes != 1 {
		return nil, Usagef("--exec-fds stands in the place of --exec and --exec-processes")
	}
	var files []*os.File
	for _, fd := range p.files {
		file, err := inheritedPipe(fd)
		if err != nil {
			return nil, Usagef("--exec-fds: %v", err)
		}
		files = append(files, file)
	}
	if len(files) != 2 || p.files[0] == p.files[1] {
		return nil, Usagef("--exec-fds %v: expected two descriptors, such as 3,4", p.files)
	}
	return pipe.Inherited(files[0], files[1], p.options)
}

// splitWords splits a command at blanks, as a shell does: quotes and backslashes keep a word
// together. No shell runs it, so what is special to a shell beyond that is refused, or, as $, ~ and
// *, an ordinary character.
func splitWords(command string) ([]string, error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(command)
	switch {
	case err != nil || parser.Position >= 0:
		return nil, Usagef(`--exec %q: expected a program and its arguments; no shell runs them, so quote `+
			`; & | < > ( ) or name "sh -c '…'"`, command)
	case len(words) == 0:
		return nil, Usagef("--exec %q: expected a program and its arguments", command)
	}
	return words, nil
}
