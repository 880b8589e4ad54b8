package layers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
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
	c, err := rs.CertifyOne(context.Background(), model, make([]uint8, 4), rs.Options{Settings: rs.Settings{Sigma: 0.25, MaxSamples: 1000, Rule: rs.Fixed}})
	fmt.Printf("%d %.4f %v\n", c.Class, c.Radius, err)
}
`

// A service in a module of its own builds with what certifies, and gets neither cgo nor GoMLX with it.
func TestOutsideModuleCertifies(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The versions of this module, so that nothing is downloaded.
	required := strings.SplitN(string(ours), "\n", 2)[1]
	for name, text := range map[string]string{
		"main.go": outside,
		"go.sum":  string(sums),
		"go.mod":  "module example.org/service\n" + required + "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + strconv.Quote(root) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) string {
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
	for _, p := range []string{"net/http", "net", "archive/zip", "image", "github.com/nlpodyssey/gopickle/pickle", module + "/dataset", module + "/internal/fetch"} {
		if deps[p] {
			t.Errorf("rs depends on %s", p)
		}
	}
}
