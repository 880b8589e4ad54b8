package goexec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/janpfeifer/gonb/internal/kernel"
)

var (
	position = regexp.MustCompile(`^.*?main(?:_test)?\.go:(\d+):(?:(\d+):)? ?(.*)$`)
	noise    = regexp.MustCompile(` \((?:and \d+ more errors|/[^)]*)\)$`)
)

// firstMessage is the first of a compiler's messages with its line of the cell, without the paths of generated
// files.
func (s *State) firstMessage(lines []CellIdAndLine, output string, base error) *GonbError {
	text, more := "", 0
	code := ""
	if main, err := s.readMainGo(); err == nil {
		code = main
	}
	for _, line := range strings.Split(output, "\n") {
		found := position.FindStringSubmatch(line)
		switch {
		case found == nil && strings.HasPrefix(line, "\t") && text != "" && more == 0:
			text += "\n" + line // have (...), want (...)
		case found == nil:
		case text != "":
			more++
		default:
			text = noise.ReplaceAllString(found[3], "") + where(found, lines, strings.Split(code, "\n"))
		}
	}
	if text == "" {
		text = strings.TrimSpace(strings.ReplaceAll(output, s.TempDir+"/", ""))
	}
	if strings.HasPrefix(text, "expected declaration") {
		text += "\nStatements stand below a line with %% alone."
	}
	if more > 0 {
		text += fmt.Sprintf("\nand %d more, once this is mended", more)
	}
	return &GonbError{Lines: []errorLine{{Message: text}}, errMsg: text, err: base}
}

// where names the cell and its line, and shows that with the place in it.
func where(found []string, lines []CellIdAndLine, code []string) string {
	line, _ := strconv.Atoi(found[1])
	column, _ := strconv.Atoi(found[2])
	line--
	if line < 0 || line >= len(code) {
		return ""
	}
	text := ""
	if line < len(lines) && lines[line].Line != NoCursorLine {
		text = fmt.Sprintf("\nline %d of this cell:", lines[line].Line+1)
		if lines[line].Id != -1 {
			text = fmt.Sprintf("\nline %d of cell [%d]:", lines[line].Line+1, lines[line].Id)
		}
	}
	text += "\n    " + code[line]
	if column < 1 || column > len(code[line])+1 {
		return text
	}
	before := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, code[line][:column-1])
	return text + "\n    " + before + "^"
}

// compileCell is Compile with a word in the page while it lasts. It warms completion up for what the cells import.
func (s *State) compileCell(msg kernel.Message, lines []string, decls *Declarations, of []CellIdAndLine) error {
	done := s.sayCompiling(msg, lines)
	err := s.Compile(msg, of)
	done()
	if err != nil {
		return err
	}
	if msg.Kernel().Interrupted.Load() {
		return errors.New("interrupted while the cell was compiled")
	}
	s.warm(decls)
	return nil
}

// sayCompiling shows a word after a second, and takes it away. A cell with shell commands gets none: their output
// would go with it.
func (s *State) sayCompiling(msg kernel.Message, lines []string) (done func()) {
	for _, line := range lines {
		if strings.HasPrefix(line, "!") {
			return func() {}
		}
	}
	if msg == nil || s.rawError {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-stop:
			return
		case <-time.After(time.Second):
		}
		_ = kernel.PublishHtml(msg, "<small>compiling …</small>")
		<-stop
		_ = msg.Publish("clear_output", map[string]bool{"wait": false})
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// started is about when the kernel was.
var started = time.Now()

// changedSinceStart reports whether a file of the packages that cells import is another than gopls has read itself.
func changedSinceStart(file string) bool {
	info, err := os.Stat(file)
	return err != nil || info.ModTime().After(started)
}

// warmed are the imports that gopls has seen.
var warmed = map[string]bool{}

// warm has gopls look at all packages that cells import, beside the next cells, so that the first completion need
// not wait for it.
func (s *State) warm(decls *Declarations) {
	fresh := false
	var imports []string
	for _, i := range decls.Imports {
		fresh = fresh || !warmed[i.Path]
		warmed[i.Path] = true
		imports = append(imports, fmt.Sprintf("import _ %q\n", i.Path))
	}
	if !fresh || s.gopls == nil || s.rawError {
		return
	}
	sort.Strings(imports)
	file := filepath.Join(s.TempDir, "warm", "warm.go")
	text := "package warm\n" + strings.Join(imports, "") + "var x = 0\n"
	if os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, []byte(text), 0o600) != nil {
		return
	}
	go func() {
		socket := strings.TrimPrefix(s.gopls.Address(), "unix;")
		for range 100 { // gopls has just been started
			if _, err := os.Stat(socket); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		cmd := exec.Command("gopls", "-remote=unix;"+socket, "definition", fmt.Sprintf("%s:%d:5", file, len(imports)+2))
		cmd.Dir = s.TempDir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the cell is not for it
		_ = cmd.Run()
	}()
}
