package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// The program builds in another module, trains by its own method beside one of ours, and the card names it.
func TestOwnMethod(t *testing.T) {
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		t.Skip("needs a C compiler")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const module = "github.com/certspec/certspec"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go":  read("examples/own-method/main.go"),
		"own.yaml": read("examples/own-method/own.yaml"),
		"go.sum":   read("go.sum"),
		// The versions of the house, so that nothing is downloaded.
		"go.mod": "module example.org/own\n" + strings.SplitN(read("go.mod"), "\n", 2)[1] +
			"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + strconv.Quote(root) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "main.go", filepath.Join(dir, "out"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOPROXY=off", "GOWORK=off", "OWN_METHOD_BACKEND=go")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	const line = ": average certified radius over 8 images in 0 to 1: true\n"
	if got := string(out); got != "Gaussian"+line+"label smoothing"+line {
		t.Errorf("the program prints %q", got)
	}
	card, err := modelfile.ReadCard(filepath.Join(dir, "out", "models", "own-smoothing-s1"))
	if err != nil || card.Recipe.Method != "label-smoothing" || card.Recipe.Options["amount"] != 0.2 || card.Recipe.Options["noises"] != 2. {
		t.Errorf("the card says %+v, %v", card, err)
	}
}
