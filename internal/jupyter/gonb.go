package jupyter

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
)

// gonbFiles patch GoNB. It is built with a few changes, each a line of its source, which call the
// files of _gonb:
//   - cells that wait behind one that fails or is interrupted do not run, as Jupyter's protocol has it;
//   - the first message of a compiler comes alone, with the line of the cell and without paths;
//   - while a cell compiles the page says so;
//   - a cell that was changed is compiled and linked without the go command, where that would say the same;
//   - how a cell ended is said once, and not at all where an interrupted one says so itself. GoNB writes "^C" and the
//     exit status behind what the program says, and the status again as an error;
//   - gopls is connected to as soon as it listens, looks at what cells may import from the start of the kernel on, so
//     that completion need not wait, gives way to cells, and is not sent every file of the module (a thousand) at the
//     first;
//   - packages that the kernel knows need no import in a cell;
//   - statements need no line with %% above them;
//   - gopls ends after a kernel that was killed.
//
//go:embed _gonb/dispatcher.go _gonb/goexec.go cellbuild/cellbuild.go
var gonbFiles embed.FS

const gonbModule = "github.com/janpfeifer/gonb"

// gonbAdded says which of these files stands in which package of GoNB.
var gonbAdded = map[string]string{
	"_gonb/dispatcher.go":    "internal/dispatcher/certspec.go",
	"_gonb/goexec.go":        "internal/goexec/certspec.go",
	"cellbuild/cellbuild.go": "internal/cellbuild/cellbuild.go",
}

// gonbChanges are parts of lines of GoNB's files, each there once, and what stands in their place.
var gonbChanges = []struct{ file, old, new string }{
	{"internal/dispatcher/dispatcher.go", `err := handleBusyMessage(params.msg, params.goExec)`,
		`err := unlessStopped(params.msg, params.goExec)`},
	{"internal/dispatcher/dispatcher.go", `klog.V(2).Infof("Received interrupt_request.")`,
		`msg.Kernel().Interrupted.Store(true); stopQueue()`},
	{"internal/dispatcher/dispatcher.go", `name, value, traceback := goexec.JupyterErrorSplit(executionErr)`,
		`if stopsOnError(content) { stopQueue() }; name, value, traceback := goexec.JupyterErrorSplit(executionErr)`},
	{"internal/dispatcher/dispatcher.go", `kernel.PublishExecutionError(msg, value, traceback, name)`,
		`publishError(msg, executionErr, value, traceback, name)`},
	{"internal/jpyexec/jpyexec.go", `if exec.exitError != nil {`, `if exec.exitError != nil && !exec.useNamedPipes {`},
	{"internal/goexec/execcode.go", `if err := s.Compile(msg, fileToCellIdAndLine); err != nil {`,
		`if err := s.compileCell(msg, lines, updatedDecls, fileToCellIdAndLine); err != nil {`},
	{"internal/goexec/execcode.go", `output, err := cmd.CombinedOutput()`, `output, err := builder.Run(cmd)`},
	{"internal/goexec/execcode.go", `res := bytes.Join([][]byte{cellText, match}, nil)`, `res := cellText`},
	{"internal/goexec/execcode.go", `if !s.rawError {`, `if false {`}, // the same once more as HTML
	{"internal/goexec/inspect.go", `klog.V(1).Infof("Notified of change to %q", filePath)`,
		`if !changedSinceStart(filePath) { return nil }`},
	{"internal/goexec/goplsclient/exec.go", `exec.Command(goplsPath, "-listen", addr)`,
		`exec.Command("nice", goplsPath, "-listen", addr, "-listen.timeout", "5m")`},
	{"internal/goexec/goplsclient/exec.go", `StartTimeout = 30 * time.Second`, `StartTimeout = 10 * time.Minute`},
	{"internal/goexec/goplsclient/exec.go", `case <-time.After(ConnectTimeout):`,
		`case <-time.After(50 * time.Millisecond):`},
	{"internal/goexec/goplsclient/exec.go", "c.mu.Unlock()\n\t\t<-time.After(ConnectTimeout)",
		"c.mu.Unlock()\n\t\t<-time.After(50 * time.Millisecond)"},
	{"internal/goexec/goexec.go", `if _, err = exec.LookPath("gopls"); err == nil {`,
		`if os.Getenv("` + BatchVariable + `") != "" {
			klog.V(1).Infof("nobody asks for completion")
		} else if _, err = exec.LookPath("gopls"); err == nil {`},
	{"internal/goexec/goexec.go", `Definitions:     NewDeclarations(),`, `Definitions:     withPrelude(),`},
	{"internal/goexec/goexec.go", `s.Definitions = NewDeclarations()`, `s.Definitions = withPrelude()`},
	{"internal/goexec/goexec.go", `return s.GoWorkFix(nil)`, `defer s.warm(s.Definitions); return s.GoWorkFix(nil)`},
	{"internal/dispatcher/dispatcher.go", `lines := strings.Split(code, "\n")`,
		`lines := goexec.WithMain(msg.Kernel().ExecCounter, strings.Split(code, "\n"))`},
	{"internal/dispatcher/dispatcher.go", `if len(lines) > 0 && specialcmd.IsGoCell(lines[0]) {`,
		`if len(lines) > 0 && specialcmd.IsGoCell(lines[0]) {
			lines, cursorLine = goexec.ForCursor(lines, cursorLine, cursorCol)`},
	{"internal/dispatcher/dispatcher.go", `klog.V(2).Infof("handleCompleteRequest: empty or not Go cell.")
		return
	}
`, `return
	}
	lines, cursorLine = goexec.ForCursor(lines, cursorLine, cursorCol)
`},
	{"internal/goexec/errorpublish.go", `nbErr := newGonbErrors(s, fileToCellIdAndLine, errorMsg, err)`,
		`return s.firstMessage(fileToCellIdAndLine, errorMsg, err); ` +
			`nbErr := newGonbErrors(s, fileToCellIdAndLine, errorMsg, err)`},
}

// writeGonb copies the source of GoNB to a folder, with the changes. It downloads the source where it is missing.
func writeGonb(ctx context.Context, g goTool, tools, to string) error {
	answer, err := output(ctx, tools, g.program, "mod", "download", "-json", gonbModule)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(answer), &module); err != nil {
		return fmt.Errorf("go mod download answers %.200q: %w", answer, err)
	}
	if err := copySource(module.Dir, to); err != nil {
		return err
	}
	for from, name := range gonbAdded {
		text, err := gonbFiles.ReadFile(from)
		if err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(to, name), text); err != nil {
			return err
		}
	}
	for _, change := range gonbChanges {
		path := filepath.Join(to, change.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := strings.Count(string(text), change.old); n != 1 {
			return fmt.Errorf("%s of GoNB has %q %d times; expected once", change.file, change.old, n)
		}
		changed := strings.Replace(string(text), change.old, change.new, 1)
		if err := atomicfile.Write(path, []byte(changed)); err != nil {
			return err
		}
	}
	return nil
}

// copySource copies what GoNB's program is built from.
func copySource(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (name == "docs" || name == "examples" || name == "binder"):
			return filepath.SkipDir
		case strings.HasSuffix(name, "_test.go"):
			return nil
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return atomicfile.Write(filepath.Join(to, name), text)
	})
}
