package cellbuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is how that of a cell begins.
const program = "package main\n\nimport \"example.org/lib/word\"\n\nfunc main() {\n\tprint(word.Word())"

// cell is the program of a cell in a workspace, whose module lib it imports.
type cell struct {
	*testing.T
	builder Builder
	dir     string
	args    []string
}

func newCell(t *testing.T) *cell {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	was := coarse
	coarse = 30 * time.Millisecond
	t.Cleanup(func() { coarse = was })
	t.Setenv("GOFLAGS", "-ldflags=-s")
	t.Setenv("GOWORK", "")
	c := &cell{T: t, dir: t.TempDir()}
	c.write("cell/go.mod", "module cell\n\ngo 1.26\n")
	c.write("cell/go.work", "go 1.26\n\nuse (\n\t.\n\t../lib\n)\n")
	c.write("lib/go.mod", "module example.org/lib\n\ngo 1.26\n")
	c.write("lib/word/word.go", "package word\n\nfunc Word() string { return \"old\" }\n")
	c.write("lib/word/data/one", "1")
	c.write("lib/word/data.go", "package word\n\nimport \"embed\"\n\n//go:embed data\nvar data embed.FS\n\n"+
		"func Files() int {\n\tall, _ := data.ReadDir(\"data\")\n\treturn len(all)\n}\n")
	return c
}

func (c *cell) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

// says builds and runs statements, and wants their words. quick: without the go command.
func (c *cell) says(statements, want string, quick bool) {
	c.Helper()
	c.write("cell/main.go", program+"\n"+statements+"\n}\n")
	made := c.builder.made
	if out, err := c.build(); err != nil {
		c.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(c.dir, "cell", "program")).CombinedOutput()
	if err != nil || string(out) != want {
		c.Errorf("%s says %q (%v), want %q", statements, out, err, want)
	}
	if (c.builder.made > made) != quick {
		c.Errorf("%s: built without the go command: %v, want %v", statements, c.builder.made > made, quick)
	}
}

func (c *cell) build() ([]byte, error) {
	time.Sleep(3 * coarse) // what has just been changed may change again unseen
	cmd := exec.Command("go", append([]string{"build", "-o", filepath.Join(c.dir, "cell", "program")}, c.args...)...)
	cmd.Dir = filepath.Join(c.dir, "cell")
	return c.builder.Run(cmd)
}

// known has the builder know the calls for these statements' imports.
func (c *cell) known(want string) {
	c.Helper()
	c.write("cell/main.go", program+"\nprint(0)\n}\n")
	for range 2 { // the first may compile the library
		if out, err := c.build(); err != nil {
			c.Fatalf("%v\n%s", err, out)
		}
		c.write("cell/main.go", program+"\nprint(1)\n}\n")
	}
	c.says("print(2)", want+"2", true)
}

// A changed cell is built without the go command, and what decides of a program beside it is seen to change: then the
// program is the go command's.
func TestStaleCallsAreNotUsed(t *testing.T) {
	c := newCell(t)
	c.known("old")
	word := func(text string) string { return "package word\n\nfunc Word() string { return " + text + " }\n" }
	const loop = "var all []func() int\nfor i := 0; i < 2; i++ {\nall = append(all, func() int { return i })\n}\n" +
		"print(all[0]())"
	for _, change := range []struct {
		name             string
		do               func()
		statements, want string
		after            string // what the library says from then on
	}{
		{"file of the workspace", func() { c.write("lib/word/word.go", word(`"new"`)) }, "", "new", "new"},
		{"as long, and as old", func() {
			path := filepath.Join(c.dir, "lib/word/word.go")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			c.write("lib/word/word.go", word(`"wen"`))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "", "wen", "wen"},
		{"further file", func() { c.write("lib/word/more.go", "package word\n\nfunc init() { print(\"more\") }\n") }, "",
			"morewen", "morewen"},
		{"file that is gone", func() {
			if err := os.Remove(filepath.Join(c.dir, "lib/word/more.go")); err != nil {
				t.Fatal(err)
			}
		}, "", "wen", "wen"},
		{"embedded file", func() { c.write("lib/word/data/two", "2") }, "print(word.Files())", "wen2", "wen"},
		{"version of Go", func() { c.write("cell/go.mod", "module cell\n\ngo 1.21\n") }, loop, "wen2", "wen"},
		{"version of Go again", func() { c.write("cell/go.mod", "module cell\n\ngo 1.26\n") }, loop, "wen0", "wen"},
		{"tags in the environment", func() {
			c.write("lib/word/tagged.go", "//go:build tagged\n\npackage word\n\nfunc init() { print(\"tagged\") }\n")
			c.known("wen")
			t.Setenv("GOFLAGS", "-ldflags=-s -tags=tagged")
		}, "", "taggedwen", "taggedwen"},
		{"flags", func() { c.args = []string{"-tags="} }, "", "wen", "wen"},
		{"folder of the workspace", func() {
			c.write("other/go.mod", "module example.org/lib\n\ngo 1.26\n")
			c.write("other/word/word.go", word(`"other"`))
			c.write("cell/go.work", "go 1.26\n\nuse (\n\t.\n\t../other\n)\n")
		}, "", "other", "other"},
		{"file of the cell", func() { c.write("cell/more.go", "package main\n\nfunc init() { print(\"cell\") }\n") }, "",
			"cellother", ""},
	} {
		t.Run(change.name, func(t *testing.T) {
			c.T = t
			change.do()
			c.says(change.statements, change.want, false)
			if change.after != "" {
				c.known(change.after)
			}
		})
	}
}

// The go command does not take a program that was built without it for its own.
func TestProgramsOfTheGoCommandAreItsOwn(t *testing.T) {
	c := newCell(t)
	c.known("old")
	c.says("print(3)", "old3", true)
	c.builder.calls = nil
	c.write("cell/main.go", program+"\nprint(1)\n}\n")
	if out, err := c.build(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(c.dir, "cell", "program")).CombinedOutput()
	if err != nil || string(out) != "old1" {
		t.Errorf("it says %q (%v)", out, err)
	}
}

// Further imports, an error, and a program of which more than its statements decides are for the go command, whose
// messages come alone.
func TestDoubtIsForTheGoCommand(t *testing.T) {
	c := newCell(t)
	c.known("old")
	c.write("cell/main.go", "package main\n\nimport \"example.org/lib/word\"\n\nfunc main() { print(word.Wrod()) }\n")
	for range 2 { // with calls that are known, and without
		out, err := c.build()
		if text := string(out); err == nil || text != "# cell\n./main.go:5:26: undefined: word.Wrod\n" {
			t.Errorf("%v: %q", err, text)
		}
	}
	for _, text := range []string{
		"package main\n\nimport \"os\"\n\nfunc main() { os.Stderr.WriteString(\"other imports\") }\n",
		"//go:debug panicnil=1\npackage main\n\nfunc main() { print(\"directive\") }\n",
	} {
		c.write("cell/main.go", text)
		made := c.builder.made
		if out, err := c.build(); err != nil || c.builder.made > made {
			t.Errorf("%v, %d\n%s", err, c.builder.made-made, out)
		}
		out, err := exec.Command(filepath.Join(c.dir, "cell", "program")).CombinedOutput()
		if err != nil || !strings.Contains(text, `"`+string(out)+`"`) {
			t.Errorf("%v: %q", err, out)
		}
	}
}
