package nb

import (
	"bytes"
	"fmt"
	"html"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// Python is a Python with NumPy and ONNX, in an environment in certspec's cache that the first call
// makes. The error says what is missing, for notebooks that go on without it.
func Python() (program string, err error) {
	id, shown := "python-"+gonbui.UniqueId(), false
	program, err = pyenv.Ensure(Context(), pyenv.NumPy, func(s progress.State) {
		if shown = inNotebook; shown {
			update(id, html.EscapeString(s.String()))
		}
	})
	if shown {
		update(id, "")
	}
	return program, err
}

// Output runs a program and returns what it prints, without the white space around it. A program
// that fails ends the cell, with what it said on standard error.
func Output(program string, args ...string) string {
	cmd := exec.CommandContext(Context(), program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if stopped := Context().Err(); stopped != nil {
		err = stopped
	} else if err != nil {
		words := append([]string{filepath.Base(program)}, args...)
		err = fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, strings.TrimSpace(stderr.String()))
	}
	end(err)
	return strings.TrimSpace(stdout.String())
}
