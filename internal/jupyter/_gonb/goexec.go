package goexec

import (
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/janpfeifer/gonb/internal/cellbuild"
	"github.com/janpfeifer/gonb/internal/kernel"
)

var (
	position = regexp.MustCompile(`^.*?main(?:_test)?\.go:(\d+):(?:(\d+):)? ?(.*)$`)
	noise    = regexp.MustCompile(` \((?:and \d+ more errors|/[^)]*)\)$`)
)

// firstMessage is the one of a compiler's messages that the others follow from, or else the first, with its line of
// the cell, without the paths of generated files.
func (s *State) firstMessage(lines []CellIdAndLine, output string, base error) *GonbError {
	code := ""
	if main, err := s.readMainGo(); err == nil {
		code = main
	}
	var all []message
	for _, line := range strings.Split(output, "\n") {
		found := position.FindStringSubmatch(line)
		switch {
		case found != nil:
			all = append(all, message{said: noise.ReplaceAllString(found[3], ""), found: found})
		case strings.HasPrefix(line, "\t") && len(all) > 0:
			all[len(all)-1].said += "\n" + line // have (...), want (...)
		}
	}
	text := strings.TrimSpace(strings.ReplaceAll(output, s.TempDir+"/", ""))
	if len(all) > 0 {
		sort.SliceStable(all, func(i, j int) bool { return all[i].rank() < all[j].rank() })
		text = all[0].said + where(all[0].found, lines, strings.Split(code, "\n"))
	}
	if more := len(all) - 1; more > 0 {
		text += fmt.Sprintf("\nand %d more, once this is mended", more)
	}
	return &GonbError{Lines: []errorLine{{Message: text}}, errMsg: text, err: base}
}

// message is one of the compiler's, with its place as position finds it.
type message struct {
	said  string
	found []string
}

// rank says what is shown first: a name that is not there, then what may follow from one, and last a value that is
// not used, as it may be in a line that is wrong.
func (m message) rank() int {
	switch {
	case strings.Contains(m.said, "undefined"):
		return 0
	case strings.Contains(m.said, "declared and not used"):
		return 3
	case strings.Contains(m.said, "unknown type"), strings.Contains(m.said, "invalid type"):
		return 2
	}
	return 1
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
		at := lines[line].Line + 1
		if lines[line].Id == added.cell && at > added.line {
			at--
		}
		text = fmt.Sprintf("\nline %d of this cell:", at)
		if lines[line].Id != -1 {
			text = fmt.Sprintf("\nline %d of cell [%d]:", at, lines[line].Id)
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

// added is where WithMain has put a line into the last cell; line counts from 1, and no cell is -2.
var added = struct{ cell, line int }{cell: -2}

// WithMain puts a line with %% in front of the statements of a cell that has none, behind its declarations.
func WithMain(cell int, lines []string) []string {
	added.cell = -2
	at, _ := mainOf(lines)
	if at < 0 {
		return lines
	}
	added.cell, added.line = cell, at+1
	return insert(lines, at, "%%")
}

// ForCursor is WithMain for a cell that is being written, and the line of the cursor in it. A name that is missing
// behind a dot at the cursor is filled in.
func ForCursor(lines []string, line, column int) ([]string, int) {
	at, parses := mainOf(lines)
	if !parses && line < len(lines) && column <= len(lines[line]) && strings.HasSuffix(lines[line][:column], ".") {
		filled := append([]string(nil), lines...)
		filled[line] = lines[line][:column] + "_" + lines[line][column:]
		if where, parses := mainOf(filled); parses {
			lines, at = filled, where
		}
	}
	if at < 0 {
		return lines, line
	}
	if line >= at {
		line++
	}
	return insert(lines, at, "%%"), line
}

func insert(lines []string, at int, line string) []string {
	return append(append(append([]string(nil), lines[:at]...), line), lines[at:]...)
}

// mainOf is the line above which %% belongs, -1 for none, and whether the cell parses with it.
func mainOf(lines []string) (at int, parses bool) {
	code, own := make([]string, len(lines)), -1
	for i, line := range lines {
		switch code[i] = line; {
		case strings.HasPrefix(line, "%%"), strings.HasPrefix(line, "%main"), strings.HasPrefix(line, "%test"):
			own = i
			code[i] = ""
		case strings.HasPrefix(line, "!"), strings.HasPrefix(line, "%"):
			code[i] = ""
		}
	}
	check := func(declarations, statements []string) error {
		text := "package cell\n" + strings.Join(declarations, "\n") + "\n"
		if statements != nil {
			text += "func main() {\n" + strings.Join(statements, "\n") + "\n}"
		}
		_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		return err
	}
	if own >= 0 {
		return -1, check(code[:own], code[own:]) == nil
	}
	err := check(code, nil)
	if err == nil {
		return -1, true
	}
	for at := len(lines) - 1; at >= 0; at-- {
		if check(code[:at], code[at:]) == nil {
			return at, true
		}
	}
	var list scanner.ErrorList // statements that are wrong
	if errors.As(err, &list) && strings.HasPrefix(list[0].Msg, "expected declaration") {
		return list[0].Pos.Line - 2, false
	}
	return -1, false
}

// withPrelude knows the packages that the kernel names: a cell need not import them. Those that a cell does not use
// are no part of its program.
func withPrelude() *Declarations {
	d := NewDeclarations()
	for _, path := range strings.Fields(os.Getenv("CERTSPEC_PRELUDE")) {
		i := NewImport(path, "")
		i.CellLines.Id = -1
		d.Imports[i.Key] = i
	}
	return d
}

// builder builds the programs of cells.
var builder cellbuild.Builder

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
		runtime.LockOSThread()                                // Linux tells of a thread's end
		if end := reflect.ValueOf(cmd.SysProcAttr).Elem().FieldByName("Pdeathsig"); end.IsValid() {
			end.SetInt(int64(syscall.SIGKILL)) // it would wait for a gopls that ended with the kernel
		}
		_ = cmd.Run()
	}()
}
