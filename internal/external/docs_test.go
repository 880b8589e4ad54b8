//go:build external

package external

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// page is a folder in which the text of a page is run: certspec and Python are on the PATH, with what the page installs.
type page struct {
	t      *testing.T
	dir    string
	python string
	env    []string
}

func newPage(t *testing.T) *page {
	t.Helper()
	python := environment(t, pyenv.Bench)
	if _, err := onnx.Install(t.Context(), progress.Messages(t.Logf)); err != nil {
		t.Fatal(err)
	}
	packages, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Dir(builtProgram(t)) + ":" + filepath.Dir(python) + ":" + os.Getenv("PATH")
	return &page{t, t.TempDir(), python, append(os.Environ(), "PATH="+path, "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")}
}

// sh runs lines of a shell. pip installs nothing: its packages have to be in the environment already.
func (p *page) sh(text string) string {
	p.t.Helper()
	var output bytes.Buffer
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if packages, found := strings.CutPrefix(line, "pip install "); found {
			packages = strings.Replace(packages, "dist/certspec-*.whl", "certspec", 1)
			line = "python -c 'import sys, importlib; [importlib.import_module(n) for n in sys.argv[1:]]' " + packages
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = p.dir, p.env
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Run(); err != nil {
			p.t.Fatalf("%s\n%v\n%s", line, err, &output)
		}
	}
	return output.String()
}

func (p *page) runPython(text string) {
	p.t.Helper()
	cmd := exec.Command(p.python, "-c", text)
	cmd.Dir, cmd.Env = p.dir, p.env
	if output, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%s\n%v\n%s", text, err, output)
	}
}

// The first lines of the README, as they are printed, in a new copy of the repository and with an empty home folder. Only PyTorch, of
// several gigabytes, is not downloaded: pip finds the benchmarks' copy.
func TestExternalREADME(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the lines are for linux/amd64")
	}
	torch := environment(t, pyenv.Bench)
	text := testkit.Read(t, "../../README.md")
	block := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatal("the README has no lines for a shell")
	}
	const install = "env/bin/pip install -q torch dist/"
	if strings.Count(block[1], install) != 1 {
		t.Fatalf("no %q in\n%s", install, block[1])
	}
	python := regexp.MustCompile(`(?s)env/bin/python -c '\n(.*?)'`).FindStringSubmatch(block[1])
	if python == nil || strings.Count(python[1], "\n") != 4 {
		t.Errorf("not five lines of Python:\n%s", block[1])
	}
	packages, err := exec.Command(torch, "-c", "import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))").Output()
	if err != nil {
		t.Fatal(err)
	}
	script := "set -e\n" + strings.Replace(block[1], install, "env/bin/pip install -q dist/", 1)
	dir, home := t.TempDir(), t.TempDir()
	copyTree(t, ".", dir)
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CERTSPEC_") && !strings.HasPrefix(v, "HOME=") && !strings.HasPrefix(v, "PYTHON") && !strings.HasPrefix(v, "XDG_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} { // else everything is compiled anew
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(value)))
	}
	if cache, err := os.UserCacheDir(); err == nil { // and Zig makes its C library anew
		cmd.Env = append(cmd.Env, "ZIG_GLOBAL_CACHE_DIR="+filepath.Join(cache, "zig"))
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "PYTHONPATH="+strings.TrimSpace(string(packages)))
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{"(x - [0.5]) / [0.25]", "net.ledger: holds: 5 images", "net.ledger: all holds: 5 images", "[1.0, 1.0, 1.0]"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	for file, want := range map[string]string{"net.md": "\n## ", "curve.pdf": "%PDF-"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: no %q in %.200q (%v)", file, want, text, err)
		}
	}
}

// The page on ONNX files, from the top: what stands in its blocks is run as it is printed.
func TestExternalONNXPage(t *testing.T) {
	text := testkit.Read(t, "../../docs/onnx.md")
	p := newPage(t)
	blocks := regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	kinds, output := "", ""
	for _, block := range blocks {
		kinds += block[1] + " "
		switch block[1] {
		case "sh":
			output += p.sh(block[2])
		case "python":
			p.runPython(block[2])
		}
	}
	if kinds != "sh python sh " {
		t.Errorf("blocks: %s", kinds)
	}
	if strings.Contains(output, "batch fixed") {
		t.Errorf("the export takes a fixed batch:\n%s", output)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "net.ledger")); err != nil {
		t.Error(err)
	}
}

// The same call stands in a table of a notebook, for grey images of 28×28 pixels.
func TestExternalNotebookExport(t *testing.T) {
	text := testkit.Read(t, "../../notebooks/bring-your-own.ipynb")
	var notebook struct{ Cells []struct{ Source []string } }
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(err)
	}
	var call string
	for _, cell := range notebook.Cells {
		for _, line := range cell.Source {
			if found := regexp.MustCompile("PyTorch[^|]*\\| `(torch.onnx.export.*)` \\|").FindStringSubmatch(line); found != nil {
				call = found[1]
			}
		}
	}
	if call == "" {
		t.Fatal("the notebook has no export from PyTorch")
	}
	p := newPage(t)
	p.runPython("import torch\nmodel = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))\n" + call)
	model, err := onnx.Open(filepath.Join(p.dir, "net.onnx"), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	if info, err := model.Info(); err != nil || info.Shape.Height != 28 || info.Classes != 10 {
		t.Errorf("%+v, %v", info, err)
	}
}

// What the program says of a file of weights alone: each way in is run as it is printed, with the network of the example
// and with a residual network in the names of the public repositories.
func TestExternalWaysIn(t *testing.T) {
	p := newPage(t)
	p.runPython(`
import torch
from torch import nn
net = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
torch.save(net.state_dict(), "net.pt")
open("mynet.py", "w").write('''
from torch import nn
def Net():
    return nn.Sequential(nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
''')
`)
	model, err := filepath.Abs("../../notebooks/models/cifar10-resnet20-s025")
	if err != nil {
		t.Fatal(err)
	}
	p.sh("certspec export --model " + model + " --out resnet.npz")
	p.runPython(`
import numpy as np, torch
torch.save({name: torch.tensor(values) for name, values in np.load("resnet.npz").items()}, "resnet.pt")
`)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(p.dir, "examples")); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []string{
		"certspec certify --model net.pt --data synthetic/test --sigma 0.25", "certspec import --weights net.pt --net resnet20 --out net",
		"certspec import --weights resnet.pt --net resnet20 --out net",
		"certspec certify --model resnet.pt --data synthetic/test --sigma 0.25",
	} {
		said := p.sh("! " + ask + " 2>&1")
		ways := regexp.MustCompile(`(?m)^ *\d\. .*\n *\n((?: {4,}.*\n)+)`).FindAllStringSubmatch(said, -1)
		if len(ways) != 3 {
			t.Fatalf("%s says\n%s\nexpected three ways in", ask, said)
		}
		for i, way := range ways {
			if residual := strings.Contains(ask, "resnet.pt"); residual != (i == 2) {
				continue // that way is for the other file
			}
			// The set that comes with the program, and few images, take the place of those of the text.
			commands := strings.NewReplacer("cifar10/test", "synthetic/test", "--count 100", "--count 2").Replace(way[1])
			p.sh(commands)
			ledgers, _ := filepath.Glob(filepath.Join(p.dir, "*.ledger*"))
			if len(ledgers) == 0 {
				t.Errorf("way %d left no ledger", i+1)
			}
			for _, l := range ledgers {
				os.Remove(l)
			}
		}
	}
}
