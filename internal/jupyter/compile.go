package jupyter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/progress"
)

// secondsPerPackage is the time that the compilation of a package took, in processor time, over the packages
// that the quickstart imports.
const secondsPerPackage = 0.35

// compilation is a run of "go build" that says what it does.
type compilation struct {
	task string
	dir  string
	env  []string
	show progress.Reporter // nil: silent
}

// run compiles packages into a file, or a folder with a separator at its end. Before, it counts
// what is to be compiled and says how long that takes; meanwhile it reports every package.
func (c *compilation) run(ctx context.Context, g goTool, to string, args []string) error {
	total, err := c.stale(ctx, g, args)
	if err != nil {
		return err
	}
	if total > 20 {
		guess := time.Duration(float64(total) * secondsPerPackage / float64(runtime.NumCPU()) * float64(time.Second))
		c.show.Say("%s: %d packages to compile, once: about %s on %d processors", c.task, total, roughly(guess),
			runtime.NumCPU())
	}
	cmd := exec.CommandContext(ctx, g.program, append([]string{"build", "-v", "-mod=readonly", "-o", to}, args...)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	lines, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	start, done, said := time.Now(), 0, []string{}
	report := func(final bool) {
		if c.show == nil || total == 0 {
			return
		}
		s := progress.State{Task: c.task, Done: float64(min(done, total)), Total: float64(total), Unit: "packages",
			Left: -1, Final: final}
		if done > 0 && !final {
			s.Left = time.Duration(float64(time.Since(start)) * float64(total-min(done, total)) / float64(done))
		}
		if done >= total && !final {
			s.Note, s.Left = "linking", -1
		}
		c.show(s)
	}
	report(false)
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		line := scanner.Text()
		if strings.ContainsAny(line, " :") { // no import path
			said = append(said, line)
			continue
		}
		done++
		report(false)
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("go build: %w\n%s", err, strings.Join(said, "\n"))
	}
	done = total
	report(true)
	return nil
}

// stale counts the packages that the build cache has not.
func (c *compilation) stale(ctx context.Context, g goTool, packages []string) (int, error) {
	cmd := exec.CommandContext(ctx, g.program, append([]string{"list", "-deps", "-mod=readonly", "-f",
		"{{if .Stale}}{{.ImportPath}}{{end}}"}, packages...)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, fmt.Errorf("go list: %w\n%s", err, strings.TrimSpace(stderr.String()))
	}
	return len(strings.Fields(string(out))), nil
}

// roughly rounds a time as a person says it.
func roughly(d time.Duration) string {
	switch {
	case d < 20*time.Second:
		return "a few seconds"
	case d < 90*time.Second:
		return "a minute"
	}
	return fmt.Sprintf("%.0f minutes", d.Minutes())
}

// cellFlags are what cells are compiled with: linking is most of their time, and half of it with
// XLA goes into tables for debuggers. The tag cell has package model ask the kernel's process for networks.
func cellFlags(g goTool) []string { return []string{"-ldflags=-s", "-tags=cell" + g.tags()} }

// tags are further ones, where there is no C compiler.
func (g goTool) tags() string {
	if g.cgo {
		return ""
	}
	return ",noxla"
}

// cellEnvironment is the environment in which the kernel compiles cells, as startScript sets it.
func cellEnvironment(g goTool) []string {
	env := append(os.Environ(), "GOWORK=", "GOFLAGS="+os.Getenv("GOFLAGS")+" "+strings.Join(cellFlags(g), " "))
	if !g.cgo {
		env = append(env, "CGO_ENABLED=0")
	}
	if runtime.GOARCH == "amd64" {
		env = append(env, "GOEXPERIMENT=simd")
	}
	return env
}

// quickstartImports are what the quickstart imports, as far as its file is not there.
var quickstartImports = []string{modulePath + "/dataset", modulePath + "/model", modulePath + "/nb", modulePath + "/rs"}

// linked are functions that a notebook calls. An empty program would leave out what they need, and
// the first cell's linker would read it from the disk.
var linked = []struct{ path, name string }{{"model", "Open"}, {"model", "Train"}, {"rs", "Certify"}}

// warm compiles what the quickstart imports, in the way of a cell, so that the first cell of a
// notebook finds it in the build cache.
func warm(ctx context.Context, g goTool, module string, show progress.Reporter) error {
	imports, err := importsOf(filepath.Join(module, "notebooks", "quickstart.ipynb"))
	if errors.Is(err, os.ErrNotExist) {
		imports = quickstartImports
	} else if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "certspec-warm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	version, err := goVersionOf(module)
	if err != nil {
		return err
	}
	var program strings.Builder
	program.WriteString("package main\n\nimport (\n")
	for _, path := range imports {
		fmt.Fprintf(&program, "\t_ %q\n", path)
	}
	for i, use := range linked {
		fmt.Fprintf(&program, "\tlinked%d %q\n", i, modulePath+"/"+use.path)
	}
	program.WriteString(")\n\nfunc main() {\n\tprintln(")
	for i, use := range linked {
		fmt.Fprintf(&program, "any(linked%d.%s), ", i, use.name)
	}
	program.WriteString("0)\n}\n")
	for name, text := range map[string]string{
		"go.mod": "module certspec-cell\n\ngo " + version + "\n", "main.go": program.String(),
		"go.work": goWork(version, workspace(module)),
	} {
		if err := atomicfile.Write(filepath.Join(dir, name), []byte(text)); err != nil {
			return err
		}
	}
	c := compilation{task: "packages of the first cell", dir: dir, env: cellEnvironment(g), show: show}
	return c.run(ctx, g, filepath.Join(dir, "cell"), []string{"."})
}

// goWork is a workspace of this folder and the modules.
func goWork(version string, modules []string) string {
	var use strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&use, "\t%q\n", m)
	}
	return fmt.Sprintf("go %s\n\nuse (\n\t.\n%s)\n", version, use.String())
}

// goVersionOf is the Go version that a module asks for.
func goVersionOf(module string) (string, error) {
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "go" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%s/go.mod names no version of Go", module)
}

// importsOf lists what the cells of a notebook import, once each, in order.
func importsOf(notebook string) ([]string, error) {
	data, err := os.ReadFile(notebook)
	if err != nil {
		return nil, err
	}
	var file struct {
		Cells []struct {
			Type   string   `json:"cell_type"`
			Source []string `json:"source"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", notebook, err)
	}
	found := map[string]bool{}
	for _, cell := range file.Cells {
		text := strings.Join(cell.Source, "")
		at := strings.Index(text, "import ")
		if cell.Type != "code" || at < 0 {
			continue
		}
		// What follows the imports may be a program's lines alone, which the parser then leaves.
		parsed, err := parser.ParseFile(token.NewFileSet(), "", "package main\n"+text[at:], parser.ImportsOnly)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", notebook, err)
		}
		for _, i := range parsed.Imports {
			found[strings.Trim(i.Path.Value, `"`)] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
