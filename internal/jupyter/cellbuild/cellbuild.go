// Package cellbuild builds the programs of cells. The kernel's GoNB is built with a copy of it.
package cellbuild

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Builder runs "go build" for the program of a cell, main.go, and keeps how that called the compiler and the linker.
// While nothing but main.go changes, and that imports the same, they are called so again, without the go command,
// which would look at all packages first. Whatever else changes, or fails, is for the go command.
type Builder struct {
	calls map[[sha256.Size]byte]*calls
	made  int // how many programs were built without the go command
}

// coarse is how far the clock of files may lag.
var coarse = time.Second

// calls are how the go command called the compiler and the linker.
type calls struct {
	script string            // of the shell, with the lists of packages that they read
	seen   [sha256.Size]byte // the state of what is watched
	watched
}

// Run is cmd.CombinedOutput of a command "go build -o PROGRAM …" in the folder of main.go.
func (b *Builder) Run(cmd *exec.Cmd) ([]byte, error) {
	imports, plain := importsOf(filepath.Join(cmd.Dir, "main.go"))
	out := slices.Index(cmd.Args, "-o") + 1
	if !plain || cmd.Env != nil || len(cmd.Args) < 4 || cmd.Args[1] != "build" || out == 0 {
		return cmd.CombinedOutput()
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", cmd.Args, imports, slices.Sorted(slices.Values(cmd.Environ()))))
	if kept := b.calls[key]; kept != nil {
		if state, _, err := kept.state(); err == nil && state == kept.seen && kept.run(cmd.Args[out]) == nil {
			b.made++
			return nil, nil
		}
		delete(b.calls, key)
	}
	began := time.Now().Add(-coarse)
	cmd.Args = slices.Insert(cmd.Args, 2, "-x")
	said, err := cmd.CombinedOutput()
	if err != nil {
		return messages(said), err
	}
	if kept, err := learn(cmd, said, began); err == nil {
		if b.calls == nil {
			b.calls = map[[sha256.Size]byte]*calls{}
		}
		b.calls[key] = kept
	}
	return nil, nil
}

// importsOf lists what a program imports. It is not plain where more than that and its statements decides how it is
// built.
func importsOf(file string) (imports []string, plain bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	if err != nil || bytes.Contains(text, []byte("//go:")) || bytes.Contains(text, []byte("+build")) {
		return nil, false
	}
	for _, i := range parsed.Imports {
		imports = append(imports, i.Path.Value)
	}
	slices.Sort(imports)
	return slices.Compact(imports), !slices.Contains(imports, `"C"`) && !slices.Contains(imports, "`C`")
}

// What "go build -x" says of the program's own package, which is its first.
var (
	workLine    = regexp.MustCompile(`(?m)^WORK=(.+)$`)
	listLines   = regexp.MustCompile(`(?ms)^cat >\S*/b001/(importcfg(?:\.link)?) << 'EOF'[^\n]*\n(.*?)^EOF$`)
	compileLine = regexp.MustCompile(`(?m)^(\S+/compile) -o \$WORK/b001/_pkg_\.a .* -pack \./main\.go$`)
	linkLine    = regexp.MustCompile(`(?m)^(?:\S+=\S+ )*(\S+/link) -o \$WORK/b001/exe/a\.out .*$`)
	buildID     = regexp.MustCompile(` -buildid=\S+`)
	packageLine = regexp.MustCompile(`(?m)^packagefile ([^=\n]+)=`)
	replaceLine = regexp.MustCompile(`=>\s+"?(\.{0,2}/[^\s"]*)`)
)

// messages leaves out of what a failing "go build -x" says its commands.
func messages(said []byte) []byte {
	for at := 0; at < len(said); {
		line, _, _ := bytes.Cut(said[at:], []byte("\n"))
		if bytes.HasPrefix(line, []byte("# ")) && string(line) != "# import config" {
			return said[at:]
		}
		at += len(line) + 1
	}
	return workLine.ReplaceAll(said, nil)
}

// learn reads how the compiler and the linker were called. The error says what is in doubt.
func learn(cmd *exec.Cmd, said []byte, began time.Time) (*calls, error) {
	was, compile, link := workLine.FindSubmatch(said), compileLine.FindSubmatch(said), linkLine.FindSubmatch(said)
	lists := listLines.FindAllSubmatch(said, -1)
	if was == nil || compile == nil || link == nil || len(lists) != 2 {
		return nil, errors.New("go build says other than expected")
	}
	c := &calls{script: "mkdir -p $WORK/b001/exe\n", watched: watched{cell: cmd.Dir}}
	for _, list := range lists {
		text := bytes.ReplaceAll(list[2], append(was[1], "/b001/"...), []byte(c.work()+"/b001/"))
		if bytes.Contains(text, was[1]) {
			return nil, errors.New("packages were compiled, and are not in the cache under these names")
		}
		c.script += fmt.Sprintf("cat >$WORK/b001/%s << 'EOF'\n%sEOF\n", list[1], text)
	}
	// With the link's own identity the go command would take a later program for the one that it has linked.
	c.script += fmt.Sprintf("%s\n%s\n", compile[0], buildID.ReplaceAll(link[0], []byte(" -buildid=cell")))
	c.files = []string{cmd.Path, string(compile[1]), string(link[1]),
		filepath.Join(filepath.Dir(string(link[1])), "../../../VERSION")}
	if file := os.Getenv("GOENV"); file != "" {
		c.files = append(c.files, file)
	} else if dir, err := os.UserConfigDir(); err == nil {
		c.files = append(c.files, filepath.Join(dir, "go", "env"))
	}
	if err := c.watchPackages(packageLine.FindAllStringSubmatch(c.script, -1)); err != nil {
		return nil, err
	}
	state, last, err := c.state()
	if err != nil || last.After(began) {
		return nil, errors.Join(err, errors.New("a file has changed since the build began"))
	}
	c.seen = state
	return c, nil
}

// work is the folder of what they make.
func (c *calls) work() string { return filepath.Join(c.cell, ".build") }

// run compiles and links main.go in its folder.
func (c *calls) run(program string) error {
	cmd := exec.Command("sh", "-e")
	cmd.Dir, cmd.Stdin = c.cell, strings.NewReader(c.script+"mv $WORK/b001/exe/a.out \"$PROGRAM\"\n")
	cmd.Env = append(os.Environ(), "WORK="+c.work(), "PROGRAM="+program, "PWD="+c.cell)
	return cmd.Run()
}

// watched are the things that decide about a build beside main.go, the arguments and the environment.
type watched struct {
	cell    string   // the folder of main.go
	files   []string // which may be missing
	folders []string // of packages outside of Go's cache of modules, which never changes
	trees   []string // of those that embed files
}

// watchPackages finds the folders of the packages of a workspace.
func (w *watched) watchPackages(packages [][]string) error {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}")
	cmd.Dir = w.cell
	modules, err := cmd.Output()
	if err != nil {
		return err
	}
	var known []string
	for line := range strings.Lines(string(modules)) {
		_, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		known = append(known, dir)
		w.files = append(w.files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"), filepath.Join(dir, "vendor"))
	}
	for _, dir := range known {
		for _, name := range []string{"go.mod", "go.work"} {
			text, _ := os.ReadFile(filepath.Join(dir, name)) // one may be missing
			for _, to := range replaceLine.FindAllSubmatch(text, -1) {
				target := string(to[1])
				if !filepath.IsAbs(target) {
					target = filepath.Join(dir, target)
				}
				if !slices.Contains(known, filepath.Clean(target)) {
					return fmt.Errorf("%s: a module in place of another, %s", filepath.Join(dir, name), target)
				}
			}
		}
	}
	for line := range strings.Lines(string(modules)) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		for _, p := range packages {
			if rest, ok := strings.CutPrefix(p[1]+"/", module+"/"); ok && dir != w.cell {
				w.folders = append(w.folders, filepath.Join(dir, rest))
			}
		}
	}
	for _, dir := range w.folders {
		sources, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, source := range sources {
			text, err := os.ReadFile(source)
			if err != nil {
				return err
			}
			if bytes.Contains(text, []byte("\n//go:embed")) && !slices.Contains(w.trees, dir) {
				w.trees = append(w.trees, dir)
			}
		}
	}
	return nil
}

// state sums up the names, sizes and times of all that is watched; last is the last change.
func (w *watched) state() (sum [sha256.Size]byte, last time.Time, err error) {
	state := sha256.New()
	add := func(path string, info fs.FileInfo) {
		changed := info.ModTime()
		// When its content, mode or name changed, which nobody sets; where the system has it.
		if sys := reflect.Indirect(reflect.ValueOf(info.Sys())); sys.Kind() == reflect.Struct {
			for _, name := range []string{"Ctim", "Ctimespec"} {
				if t := sys.FieldByName(name); t.IsValid() {
					if c := time.Unix(t.Field(0).Int(), t.Field(1).Int()); c.After(changed) {
						changed = c
					}
				}
			}
		}
		if changed.After(last) {
			last = changed
		}
		fmt.Fprintf(state, "%q %d %v %d %d\n", path, info.Size(), info.Mode(), info.ModTime().UnixNano(), changed.UnixNano())
	}
	for _, path := range w.files {
		switch info, err := os.Stat(path); {
		case err == nil:
			add(path, info)
		case !errors.Is(err, fs.ErrNotExist):
			return sum, last, err
		}
	}
	listed := func(dir string, wanted func(name string) bool) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if path := filepath.Join(dir, entry.Name()); wanted(entry.Name()) {
				info, err := os.Stat(path) // of what a link points to
				if err != nil {
					return err
				}
				add(path, info)
			}
		}
		return nil
	}
	inCell := func(name string) bool {
		switch filepath.Ext(name) {
		case ".go":
			return name != "main.go"
		case ".mod", ".sum", ".work", ".pgo", ".c", ".s", ".S", ".h", ".syso":
			return true
		}
		return false
	}
	if err := listed(w.cell, inCell); err != nil {
		return sum, last, err
	}
	for _, dir := range w.folders {
		info, err := os.Stat(dir)
		if err != nil {
			return sum, last, err
		}
		add(dir, info)
		if err := listed(dir, func(string) bool { return true }); err != nil {
			return sum, last, err
		}
	}
	for _, tree := range w.trees {
		err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil {
				add(path, info)
			}
			return err
		})
		if err != nil {
			return sum, last, err
		}
	}
	return [sha256.Size]byte(state.Sum(nil)), last, nil
}
