package layers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// outside is a program of another module that certifies one image with a model of its own.
const outside = `package main

import (
	"context"
	"fmt"

	_ "github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

func main() {
	model := classifier.Constant{Shape: pixel.Shape{Height: 2, Width: 2, Channels: 1}, Classes: 2, Class: 1}
	c, err := rs.CertifyOne(context.Background(), model, make([]uint8, 4), rs.Options{Sigma: 0.25, MaxSamples: 1000, Rule: rs.Fixed})
	fmt.Printf("%d %.4f %v\n", c.Class, c.Radius, err)
}
`

// foreign makes a module of another path with these files, and gives a function that runs go in it.
func foreign(t *testing.T, files map[string]string) func(args ...string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// The versions of this module, so that nothing is downloaded.
	required := strings.SplitN(string(testkit.Read(t, root, "go.mod")), "\n", 2)[1]
	testkit.Write(t, testkit.Read(t, root, "go.sum"), dir, "go.sum")
	testkit.Write(t, fmt.Appendf(nil, "module example.org/service\n%s\nrequire %s v0.0.0\n\nreplace %s => %q\n", required,
		module, module, root), dir, "go.mod")
	for name, text := range files {
		testkit.Write(t, []byte(text), dir, name)
	}
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
		}
		return string(out)
	}
}

// What examples and cells import can be imported by a module of another path, too.
func TestExamplesAndCellsBuildOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles all packages that cells name")
	}
	files, imported := map[string]string{}, map[string]bool{}
	examples, _ := filepath.Glob("../../examples/*/*.go")
	for _, path := range examples {
		name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
		files[name] = string(testkit.Read(t, path))
	}
	notebooks, _ := filepath.Glob("../../notebooks/*.ipynb")
	for _, path := range notebooks {
		for _, found := range ofOurs.FindAllStringSubmatch(string(testkit.Read(t, path)), -1) {
			if path := found[1]; !within(path, "notebooks") && !within(path, "examples") { // which are modules of their own
				imported[path] = true
			}
		}
	}
	var cells strings.Builder
	cells.WriteString("package cells\n")
	for path := range imported {
		fmt.Fprintf(&cells, "\nimport _ %q\n", path)
	}
	files["cells/cells.go"] = cells.String()
	if len(examples) < 2 || len(imported) < 10 {
		t.Fatalf("%d files of examples, %d packages of cells: this test looks at the wrong places", len(examples), len(imported))
	}
	foreign(t, files)("vet", "./...")
}

// ofOurs finds imports of this module in the text of a notebook.
var ofOurs = regexp.MustCompile(`\\"(` + regexp.QuoteMeta(module) + `/[a-z0-9/]+)\\"`)

// A service in a module of its own builds with what certifies, and gets neither cgo nor GoMLX with it.
func TestOutsideModuleCertifies(t *testing.T) {
	command := foreign(t, map[string]string{"main.go": outside})
	certifies := false
	for line := range strings.Lines(command("list", "-deps", "-f", "{{.ImportPath}} {{.Standard}} {{len .CgoFiles}}", ".")) {
		fields := strings.Fields(line)
		path, standard, cgo := fields[0], fields[1] == "true", fields[2] != "0"
		certifies = certifies || path == module+"/rs"
		if strings.HasPrefix(path, "github.com/gomlx/") || within(path, "gomlxmodels") {
			t.Errorf("a service depends on %s", path)
		}
		if cgo && !standard { // the standard library has a form without it of each of its packages
			t.Errorf("a service depends on %s, which uses cgo", path)
		}
	}
	if !certifies {
		t.Error("the program does not depend on rs: this test looks at the wrong list")
	}
	// spec §11.1: 1,000 of 1,000 at α = .001 and σ = .25.
	if out := command("run", "."); out != "1 0.6158 <nil>\n" {
		t.Errorf("the service prints %q", out)
	}
}

// "go install …/cmd/certspec@version" refuses a module that replaces others.
func TestModuleReplacesNothing(t *testing.T) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte(`"Replace": null`)) && bytes.Contains(out, []byte(`"Replace"`)) || bytes.Contains(out, []byte(`"Exclude": [`)) {
		t.Errorf("go.mod replaces or excludes modules:\n%s", out)
	}
}

// Who imports rs gets statistics: no network, no reader of foreign files.
func TestRSNeedsNoReader(t *testing.T) {
	deps := map[string]bool{}
	for _, p := range list(t, nil, "-deps", "./rs") {
		deps[p.ImportPath] = true
	}
	if !deps[module+"/dataset/imageset"] {
		t.Error("rs does not know dataset/imageset: this test looks for the wrong name")
	}
	for _, p := range []string{"net/http", "net", "archive/zip", "image", "github.com/nlpodyssey/gopickle/pickle", module + "/dataset", module + "/dataset/internal/fetch"} {
		if deps[p] {
			t.Errorf("rs depends on %s", p)
		}
	}
}
