package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

func needShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the kernel does not run on native Windows")
	}
}

// script writes an executable file.
func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQuoteIsOneWord(t *testing.T) {
	needShell(t)
	for _, s := range []string{"plain", "with space", "it's", `$HOME "x" \`, "a;b|c&d", "line\nbreak"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("the shell reads %s as %q (%v), want %q", quote(s), out, err, s)
		}
	}
}

// GoNB's bare "go get" must not reach the network; every other use of go must reach go.
func TestGoScriptStopsOnlyBareGet(t *testing.T) {
	needShell(t)
	dir := filepath.Join(t.TempDir(), "it's here")
	real := script(t, filepath.Join(dir, "go"), "#!/bin/sh\nfor a; do printf '[%s]' \"$a\"; done\n")
	shim := script(t, filepath.Join(dir, "path", "go"), goScript(goTool{program: real}))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get"}, ""},
		{[]string{"get", "-t"}, ""},
		{[]string{"get", "example.org/a@v1"}, "[get][example.org/a@v1]"},
		{[]string{"build", "-o", "a b", "-tags=x y"}, "[build][-o][a b][-tags=x y]"},
	} {
		out, err := exec.Command(shim, c.args...).Output()
		if err != nil || string(out) != c.want {
			t.Errorf("go %q: %q (%v), want %q", c.args, out, err, c.want)
		}
	}
}

func TestStartScriptSetsTheKernelsEnvironment(t *testing.T) {
	needShell(t)
	dir := filepath.Join(t.TempDir(), "my kernel")
	bin := filepath.Join(dir, "bin")
	script(t, filepath.Join(bin, "gonb"), "#!/bin/sh\necho \"$PATH\"; echo \"[$GOFLAGS][$CGO_ENABLED][$GOWORK]\"; echo \"$*\"\n")
	for _, cgo := range []bool{true, false} {
		start := script(t, filepath.Join(dir, "start"), startScript(Kernel{Dir: dir}, goTool{cgo: cgo}, bin))
		cmd := exec.Command(start, "--kernel", "a b.json")
		cmd.Env = []string{"PATH=/usr/bin:/bin", "GOFLAGS=-v", "GOWORK=off"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		settings := "[-v -ldflags=-s -tags=cell][][]"
		if !cgo {
			settings = "[-v -ldflags=-s -tags=cell,noxla][0][]"
		}
		want := filepath.Join(dir, "path") + ":" + bin + ":/usr/bin:/bin\n" + settings + "\n--kernel a b.json\n"
		if string(out) != want {
			t.Errorf("cgo %v: gonb got\n%s\nwant\n%s", cgo, out, want)
		}
	}
}

// In a checkout gopls has the cells' module alone in use, and finds the checkout's packages as what a module requires.
func TestCompletionRequiresTheCheckout(t *testing.T) {
	needShell(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "my kernel")
	k, bin, cells := Kernel{Dir: dir, Module: root}, filepath.Join(dir, "bin"), filepath.Join(dir, "cells")
	if err := writeRequired(filepath.Join(dir, requiredName), workspace(root)); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, nil, bin, completionTools.ready)
	testkit.Write(t, []byte("module cells\n\ngo 1.26.5\n"), cells, "go.mod")
	script(t, filepath.Join(bin, "gopls"), "#!/bin/sh\ngo work edit -json; go list -f '{{.Dir}} {{.Module.Main}}' "+
		modulePath+"/nb "+modulePath+"/notebooks/papers\n")
	cmd := exec.Command(script(t, filepath.Join(dir, "gopls"), goplsScript(k, bin)))
	cmd.Dir, cmd.Env = cells, append(os.Environ(), "GONB_TMP_DIR="+cells, "GOFLAGS=-tags=cell", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{filepath.Join(root, "nb") + " false\n", filepath.Join(root, "notebooks", "papers") + " false\n"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %q in\n%s", err, want, out)
		}
	}
}

// The program that installed the kernel is on the PATH of cells, and is missed where it is gone.
func TestProgramOfTheCells(t *testing.T) {
	needShell(t)
	dir := filepath.Join(t.TempDir(), "it's here")
	program := script(t, filepath.Join(dir, "certspec"), "#!/bin/sh\nfor a; do printf '[%s]' \"$a\"; done\n")
	of := script(t, filepath.Join(dir, "path", "certspec"), programScript(program))
	if out, err := exec.Command(of, "ledger", "a b").Output(); err != nil || string(out) != "[ledger][a b]" {
		t.Errorf("%q (%v)", out, err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(of, "ledger").CombinedOutput(); err == nil || !strings.Contains(string(out), "run certspec notebook install again") {
		t.Errorf("%q (%v)", out, err)
	}
}

func TestRootIsToldBefore(t *testing.T) {
	for args, refused := range map[string]bool{"": true, "--no-browser": true, "--allow-root": false, "--ServerApp.allow_root=True": false} {
		if err := checkRoot(0, []string{args}); (err != nil) != refused {
			t.Errorf("%q: %v", args, err)
		}
		if err := checkRoot(1000, []string{args}); err != nil {
			t.Errorf("as a user: %v", err)
		}
	}
}

func TestInstallAndUninstall(t *testing.T) {
	needShell(t)
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	g, err := findGo(context.Background())
	if err != nil {
		t.Skip(err)
	}
	// Tools that are ready need not be built.
	bin, err := toolsDir(g)
	if err != nil {
		t.Fatal(err)
	}
	script(t, filepath.Join(bin, ready), "")
	data := filepath.Join(t.TempDir(), "Jupyter data")
	k, err := Install(context.Background(), data, "devel", false, progress.Messages(t.Logf), "--raw_error")
	if err != nil {
		t.Fatal(err)
	}
	if !isCheckout(k.Module) {
		t.Errorf("cells import from %s, which is no checkout of certspec", k.Module)
	}
	var spec struct {
		Argv        []string
		DisplayName string `json:"display_name"`
	}
	text := testkit.Read(t, data, "kernels", KernelName, "kernel.json")
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	if spec.DisplayName != DisplayName || len(spec.Argv) != 5 || spec.Argv[2] != "{connection_file}" ||
		spec.Argv[3] != "--go_work="+strings.Join(workspace(k.Module), ",") || spec.Argv[4] != "--raw_error" {
		t.Errorf("kernel.json starts %q as %q", spec.Argv, spec.DisplayName)
	}
	if info, err := os.Stat(spec.Argv[0]); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%s is not executable: %v", spec.Argv[0], err)
	}
	if info, err := os.Stat(filepath.Join(k.Dir, "path", "certspec")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("certspec is not on the kernel's PATH: %v", err)
	}
	card := filepath.Join(data, "labextensions", KernelName, "static", "remoteEntry.js")
	if text, err := os.ReadFile(card); err != nil || !strings.Contains(string(text), `"cell_type":"code"`) {
		t.Errorf("the launcher's card has no template: %v", err)
	}
	for _, want := range []bool{true, false} {
		if found, err := Uninstall(data); found != want || err != nil {
			t.Errorf("Uninstall: %v, %v; want %v", found, err, want)
		}
	}
	if _, err := os.Stat(filepath.Dir(card)); !os.IsNotExist(err) {
		t.Errorf("the launcher's card is still there: %v", err)
	}
}

func TestWithoutCheckoutOrReleaseThereIsNoModule(t *testing.T) {
	for _, version := range []string{"devel", "devel-0123456789ab", "v0.1.0+dirty", "unknown"} {
		if released.MatchString(version) {
			t.Errorf("version %q is taken for a released one", version)
		}
	}
	for _, version := range []string{"v0.1.0", "v1.2.3-rc.1", "v0.0.0-20261121090000-0123456789ab"} {
		if !released.MatchString(version) {
			t.Errorf("version %q is not taken for a released one", version)
		}
	}
}

func TestIsCheckout(t *testing.T) {
	for text, want := range map[string]bool{
		"module " + modulePath + "\n\ngo 1.26\n":          true,
		"// comment\nmodule " + modulePath + "\n":         true,
		"module " + modulePath + "/v2\n":                  false,
		"module other\nrequire " + modulePath + " v0.1\n": false,
	} {
		dir := t.TempDir()
		testkit.Write(t, []byte(text), dir, "go.mod")
		if got := isCheckout(dir); got != want {
			t.Errorf("go.mod %q: %v, want %v", text, got, want)
		}
	}
	if isCheckout(t.TempDir()) {
		t.Error("an empty folder is taken for a checkout")
	}
}

func TestCopyInto(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	script(t, filepath.Join(from, "models", "deep", "m"), "weights")
	script(t, filepath.Join(from, "a.ipynb"), "{}")
	for _, name := range []string{"a.ipynb", "models", "results"} {
		if err := copyInto(to, from, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(to, "models", "deep", "m")); string(got) != "weights" {
		t.Errorf("copied %q (%v)", got, err)
	}
	if err := copyInto(to, from, "missing.ipynb"); err == nil || !strings.Contains(err.Error(), "missing.ipynb") {
		t.Errorf("a missing notebook gives %v", err)
	}
}

func TestExcerptKeepsTheFailingCell(t *testing.T) {
	log := strings.Repeat("noise\n", 2000) + "An error occurred while executing the following cell:\n---\nnb.Check(err)\n---\nboom\n"
	if got := excerpt(log); !strings.HasPrefix(got, "An error occurred") || !strings.Contains(got, "boom") {
		t.Errorf("excerpt is %q", got)
	}
	if got := excerpt(strings.Repeat("x", 9000) + "end"); len(got) != 4000 || !strings.HasSuffix(got, "end") {
		t.Errorf("excerpt of a long log has %d bytes", len(got))
	}
}

func TestFollowPassesProgressOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress.json")
	seen := make(chan progress.State, 10)
	stop := follow(file, func(s progress.State) { seen <- s })
	for _, text := range []string{`{"Task":"certify","Done":3}`, `{"torn`, `{"Task":"certify","Done":4,"Final":true}`} {
		testkit.Write(t, []byte(text), file)
		if !strings.HasSuffix(text, "}") {
			continue
		}
		if s := <-seen; s.Task != "certify" || s.Done < 3 {
			t.Errorf("%s is passed on as %+v", text, s)
		}
	}
	stop()
	if len(seen) != 0 {
		t.Errorf("%d reports too many", len(seen))
	}
}

// The cells of the launcher's card compile, declarations and statements, with the packages that the kernel knows.
func TestTemplateCompiles(t *testing.T) {
	g, err := findGo(t.Context())
	if err != nil {
		t.Skip(err)
	}
	imports, declared, stated := "", "", ""
	code := regexp.MustCompile(`(?m)^//.*`).ReplaceAllString(templateText, "")
	for _, name := range prelude {
		if strings.Contains(code, name+".") {
			imports += fmt.Sprintf("import %q\n", modulePath+"/"+name)
		}
	}
	for i, cell := range strings.Split(code, "\n~~~\n") {
		if i == 0 || strings.HasPrefix(cell, "!") { // words, and a command
			continue
		}
		lines := strings.Split(cell, "\n")
		start := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "run := ") || strings.HasPrefix(line, "nb.Show(")
		})
		if start < 0 {
			start = len(lines)
		}
		for _, line := range lines[:start] {
			if strings.HasPrefix(line, "import ") {
				imports += line + "\n"
			} else {
				declared += line + "\n"
			}
		}
		stated += "func _() {\n" + strings.Join(lines[start:], "\n") + "\n}\n"
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	version, err := goVersionOf(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module template\n\ngo " + version + "\n",
		"go.work": goWork(version, workspace(root)), "main.go": "package main\n\n" + imports + declared + stated +
			"func main() {}\n"} {
		testkit.Write(t, []byte(text), dir, name)
	}
	cmd := exec.Command(g.program, "vet", ".")
	cmd.Dir, cmd.Env = dir, cellEnvironment(g)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
