package jupyter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// tinyModule writes a module of a program and some packages that nobody has compiled before.
func tinyModule(t *testing.T, packages int, program string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		testkit.Write(t, []byte(text), path)
	}
	write("go.mod", "module tiny\n\ngo 1.26\n")
	imports := ""
	for i := range packages {
		write(fmt.Sprintf("p%d/p.go", i), fmt.Sprintf("package p%d\n\n// %s\nconst V = %d\n", i, t.TempDir(), time.Now().UnixNano()))
		imports += fmt.Sprintf("import _ \"tiny/p%d\"\n", i)
	}
	write("main.go", "package main\n\n"+imports+program)
	return dir
}

// What is compiled is counted before, and told one by one.
func TestCompilationSaysWhatItDoes(t *testing.T) {
	g, err := findGo(context.Background())
	if err != nil {
		t.Skip(err)
	}
	var states []progress.State
	var said []string
	c := compilation{task: "tiny", dir: tinyModule(t, 25, "func main() {}\n"), env: append(os.Environ(), "GOWORK=off"),
		show: func(s progress.State) {
			if s.Message != "" {
				said = append(said, s.Message)
			} else {
				states = append(states, s)
			}
		}}
	out := filepath.Join(t.TempDir(), "out")
	if err := c.run(t.Context(), g, out, []string{"."}); err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "tiny: 26 packages to compile, once: about ") {
		t.Errorf("it says %q", said)
	}
	last := states[len(states)-1]
	if len(states) < 27 || !last.Final || last.Done != 26 || last.Total != 26 || states[10].Done < 5 || states[10].Left < 0 {
		t.Errorf("%d reports, the last is %+v, the tenth %+v", len(states), last, states[10])
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
	// Again, there is nothing to say.
	said = nil
	if err := c.run(t.Context(), g, out, []string{"."}); err != nil || len(said) > 0 {
		t.Errorf("%v, %q", err, said)
	}
	c.dir = tinyModule(t, 1, "func main() { nonsense }\n")
	if err := c.run(t.Context(), g, out, []string{"."}); err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := c.run(ctx, g, out, []string{"."}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

func TestImportsOfTheQuickstart(t *testing.T) {
	got, err := importsOf(filepath.Join("..", "..", "notebooks", "quickstart.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range quickstartImports {
		if !slices.Contains(got, path) {
			t.Errorf("%s is not among %q: quickstartImports is not what the quickstart imports", path, got)
		}
	}
	for _, path := range got {
		if strings.HasPrefix(path, modulePath) && !slices.Contains(quickstartImports, path) {
			t.Errorf("quickstartImports lacks %s", path)
		}
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{3 * time.Second: "a few seconds", 70 * time.Second: "a minute", 200 * time.Second: "3 minutes"} {
		if got := roughly(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
