package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/rs"
)

// runElsewhere runs a program of a folder here in another module, and returns what it prints; out is its argument.
func runElsewhere(t *testing.T, folder, variable, out string, files ...string) string {
	t.Helper()
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
	all := map[string]string{
		"go.sum": read("go.sum"),
		// The versions of this module, so that nothing is downloaded.
		"go.mod": "module example.org/own\n" + strings.SplitN(read("go.mod"), "\n", 2)[1] +
			"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + strconv.Quote(root) + "\n",
	}
	for _, name := range files {
		all[name] = read(filepath.Join("examples", folder, name))
		if n := strings.Count(all[name], "\n"); n >= 80 {
			t.Errorf("%s/%s has %d lines; expected less than 80", folder, name, n)
		}
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "main.go", out)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOPROXY=off", "GOWORK=off", variable+"=go")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return string(printed)
}

// The program builds in another module, trains by its own method beside one of ours, and the card names it.
func TestOwnMethod(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	const line = ": average certified radius over 8 images in 0 to 1: true\n"
	if got := runElsewhere(t, "own-method", "OWN_METHOD_BACKEND", dir, "main.go", "own.yaml"); got != "Gaussian"+line+"label smoothing"+line {
		t.Errorf("the program prints %q", got)
	}
	card, err := modelfile.ReadCard(filepath.Join(dir, "models", "own-smoothing-s1"))
	if err != nil || card.Recipe.Method != "label-smoothing" || card.Recipe.Options["amount"] != 0.2 || card.Recipe.Options["noises"] != 2. {
		t.Errorf("the card says %+v, %v", card, err)
	}
}

// So does one with its own network: it trains, certifies, and exports what a program without that network opens and certifies alike.
func TestOwnNetwork(t *testing.T) {
	dir := t.TempDir()
	// 8·(9+49)·3 of two convolutions and 4·8 of two normalisations; 8·8·8 values to 32 and to 10.
	const want = "twin, width 0.5: 18170 parameters, by adam\ncertified 20 images; average certified radius in 0 to 1: true\n"
	if got := runElsewhere(t, "own-network", "OWN_NETWORK_BACKEND", dir, "main.go"); got != want || 8*58*3+4*8+(512+1)*32+33*10 != 18170 {
		t.Errorf("the program prints %q; want %q", got, want)
	}
	if _, err := modelfile.ReadCard(filepath.Join(dir, "twin")); err == nil || !strings.Contains(err.Error(), `no network "twin"`) {
		t.Errorf("a card of a network that is not there: %v", err)
	}
	if _, err := onnx.Library(""); err != nil {
		t.Skip(err)
	}
	model, err := onnx.Open(filepath.Join(dir, "twin.onnx"), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	test, err := dataset.Open("synthetic/test[count=20]")
	if err != nil {
		t.Fatal(err)
	}
	there, err := rs.Open(filepath.Join(dir, "twin.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	seed := there.Header.Seed
	here, err := rs.Certify(t.Context(), model, test, rs.Options{Sigma: 0.25, MaxSamples: 200, Selection: 100, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i, row := range here.Rows {
		if row.Class == there.Rows[i].Class {
			same++
		}
	}
	if same < 19 { // a sample near a border may fall on its other side
		t.Errorf("%d of 20 images get the same class from the ONNX file", same)
	}
}
