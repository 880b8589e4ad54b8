//go:build external

package external

import (
	"archive/zip"
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/testkit"
)

// builtWheel is the wheel of this platform, built once. All of TestExternalPython… takes 300 s on two cores.
func builtWheel(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheel with everything is that of linux/amd64")
	}
	wheel, err := wheelOnce()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`-py3-none-manylinux_2_\d+_x86_64\.whl$`).MatchString(wheel) {
		t.Fatalf("wheel %q", wheel)
	}
	return wheel
}

var wheelOnce = sync.OnceValues(func() (string, error) {
	dir, err := cache.Dir("wheel")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "run", "./tools/pywheel", "-out", dir, "-only", "linux/amd64")
	build.Dir = "../.."
	var said strings.Builder
	build.Stderr = &said
	output, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, said.String())
	}
	return strings.TrimSpace(string(output)), nil
})

// wheelEnvironment installs the wheel by pip from the file, with what its extra onnx brings, into a fresh
// environment that sees the PyTorch of the benchmarks besides.
func wheelEnvironment(t *testing.T) (bin string) {
	t.Helper()
	wheel := builtWheel(t)
	inspectWheel(t, wheel)
	torch := environment(t, pyenv.Bench)
	dir := t.TempDir()
	must := func(program string, args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "PIP_REQUIRE_VIRTUALENV=0", "PYTHONPATH=")
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, output)
		}
		return string(output)
	}
	venv := filepath.Join(dir, "venv")
	must(torch, "-m", "venv", venv)
	bin = filepath.Join(venv, "bin")
	python := filepath.Join(bin, "python")
	kernel := environment(t, pyenv.PyNotebook)
	const pure = "import sysconfig; print(sysconfig.get_path('purelib'))"
	packages := must(torch, "-c", pure) + must(kernel, "-c", pure)
	own := strings.TrimSpace(must(python, "-c", pure))
	testkit.Write(t, []byte(packages), own, "torch.pth")
	must(python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", wheel+"[onnx]")
	return bin
}

// inspectWheel checks what every wheel holds, whatever its platform.
func inspectWheel(t *testing.T, file string) {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	names := map[string]uint64{}
	for _, f := range z.File {
		names[f.Name] = f.UncompressedSize64
		if !strings.HasSuffix(f.Name, "scripts/certspec") {
			continue
		}
		if f.Mode().Perm() != 0o755 {
			t.Errorf("%s: mode %v", f.Name, f.Mode())
		}
		inspectProgram(t, f)
	}
	for _, want := range []string{"certspec/__init__.py", "certspec/py.typed", "certspec-0.1.0.dev0.data/scripts/certspec",
		"certspec-0.1.0.dev0.data/scripts/certcheck", "certspec-0.1.0.dev0.dist-info/METADATA",
		"certspec-0.1.0.dev0.dist-info/WHEEL", "certspec-0.1.0.dev0.dist-info/RECORD", "certspec-0.1.0.dev0.dist-info/licenses/LICENSE"} {
		if _, found := names[want]; !found {
			t.Errorf("%s lacks %s", file, want)
		}
	}
}

// inspectProgram checks that the C library of 2018 has every symbol that the program asks for.
func inspectProgram(t *testing.T, f *zip.File) {
	t.Helper()
	in, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := program.ImportedSymbols()
	if err != nil || len(symbols) < 50 {
		t.Fatalf("%d symbols, %v", len(symbols), err)
	}
	for _, s := range symbols {
		var minor int
		if n, _ := fmt.Sscanf(s.Version, "GLIBC_2.%d", &minor); n == 1 && minor > 28 {
			t.Errorf("%s needs %s; expected at most GLIBC_2.28", s.Name, s.Version)
		}
	}
}

// pythonOfVersion finds an interpreter, on the PATH or among those of pyenv.
func pythonOfVersion(version string) (string, bool) {
	home, _ := os.UserHomeDir()
	root := cmp.Or(os.Getenv("PYENV_ROOT"), filepath.Join(home, ".pyenv"))
	places, _ := filepath.Glob(filepath.Join(root, "versions", version+".*", "bin", "python"))
	for _, program := range append([]string{"python" + version}, places...) {
		if out, err := exec.Command(program, "--version").Output(); err == nil && strings.HasPrefix(string(out), "Python "+version+".") {
			return program, true
		}
	}
	return "", false
}

// The file is all that one needs: no Go, no PATH, no PyTorch, an empty home, and Python 3.10 to 3.13.
func TestExternalPythonVersions(t *testing.T) {
	wheel, found := builtWheel(t), 0
	tests, err := filepath.Abs("../../python/tests")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"3.10", "3.11", "3.12", "3.13"} {
		base, ok := pythonOfVersion(version)
		if !ok {
			t.Logf("Python %s is not on this machine", version)
			continue
		}
		found++
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			python := filepath.Join(dir, "venv", "bin", "python")
			for _, words := range [][]string{{base, "-m", "venv", filepath.Join(dir, "venv")},
				{python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", wheel}} {
				if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%q: %v\n%s", words, err, out)
				}
			}
			bare := []string{"PATH=", "HOME=" + dir}
			for _, words := range [][]string{{"-m", "certspec", "version"}, {"-W", "error::ResourceWarning", "-m", "unittest",
				"test_package.Labels", "test_package.Shapes", "test_package.Reading.test_ledger_from_elsewhere",
				"test_package.Reading.test_published_log", "test_package.InANotebook.test_svg", "test_package.Types"}} {
				cmd := exec.Command(python, words...)
				cmd.Dir, cmd.Env = tests, append(bare, "PYTHONDONTWRITEBYTECODE=1")
				if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "skipped") {
					t.Errorf("%q: %v\n%s", words, err, out)
				}
			}
		})
	}
	if found == 0 {
		t.Error("no Python of 3.10 to 3.13")
	}
}

func TestExternalPythonPackage(t *testing.T) {
	bin := wheelEnvironment(t)
	dir := t.TempDir()
	empty := t.TempDir()
	do := func(t *testing.T, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir = dir
		for _, v := range os.Environ() { // no variable and no cache tells where anything is
			if !strings.HasPrefix(v, "CERTSPEC_") && !strings.HasPrefix(v, "PYTHON") {
				cmd.Env = append(cmd.Env, v)
			}
		}
		cmd.Env = append(cmd.Env, "CERTSPEC_CACHE="+empty)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, output)
		}
		return string(output)
	}
	// The pages say "pip install certspec" once the index has it; the release runs this script.
	t.Run("published", func(t *testing.T) {
		for _, file := range []string{"README.md", "docs/python.md", "docs/onnx.md", ".github/published.sh"} {
			text, err := os.ReadFile("../../" + file)
			if err == nil {
				err = os.MkdirAll(filepath.Join(dir, "pages", filepath.Dir(file)), 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "pages", file), text, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if out, err := exec.Command(filepath.Join(dir, "pages/.github/published.sh")).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		for _, file := range []string{"README.md", "docs/python.md", "docs/onnx.md"} {
			text, _ := os.ReadFile(filepath.Join(dir, "pages", file))
			if strings.Contains(string(text), "make wheel") || strings.Contains(string(text), ".whl") {
				t.Errorf("%s still builds a wheel", file)
			}
		}
	})
	t.Run("page", func(t *testing.T) {
		var text []byte
		for _, page := range []string{"../../docs/python.md", "../../docs/coming-from.md"} {
			more := testkit.Read(t, page)
			text = append(text, more...)
		}
		var script string
		for _, block := range regexp.MustCompile("(?ms)^```python\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			script += block[1]
		}
		if output := do(t, "python", "-c", script); !strings.Contains(output, "preprocessing: values 0 to 1, then (x - [0.4914, 0.4822, 0.4465]) / [0.247, 0.2435, 0.2616] (says the program") ||
			!strings.Contains(output, "holds: 8 images") || !strings.Contains(output, "'label': 7") && !strings.Contains(output, "radius") {
			t.Errorf("%s", output)
		}
		if page, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || !strings.Contains(string(page), "<html") {
			t.Errorf("report: %v", err)
		}
	})
	t.Run("notebooks", func(t *testing.T) {
		notebooks, err := filepath.Abs("../../notebooks")
		if err != nil {
			t.Fatal(err)
		}
		do(t, "python", "-c", `
import glob, os, sys, nbformat
from nbclient import NotebookClient
os.environ.update(CERTSPEC_TIER="fast", OMP_NUM_THREADS="1", PYTHONPATH=sys.argv[1] + "/python")
names = sorted(glob.glob(sys.argv[1] + "/python/*.ipynb"))
assert len(names) == 3, names
os.mkdir("cells")
os.chdir("cells")  # ledgers of the pages have the same names
os.symlink(sys.argv[1], "notebooks")
for name in names:
    NotebookClient(nbformat.read(name, 4), timeout=300, kernel_name="python3").execute()
`, notebooks)
	})
	t.Run("types", func(t *testing.T) {
		notebooks, err := filepath.Abs("../../notebooks/python")
		if err != nil {
			t.Fatal(err)
		}
		kept, err := cache.Dir("mypy") // what it knows of PyTorch takes a minute to make
		if err != nil {
			t.Fatal(err)
		}
		// PyTorch has no types for backward and step.
		do(t, "python", "-c", `
import glob, json, os, subprocess, sys
for number, name in enumerate(sorted(glob.glob(sys.argv[1] + "/*.ipynb"))):
    with open(name) as file, open(f"cells{number}.py", "w") as script:
        for cell in json.load(file)["cells"]:
            if cell["cell_type"] == "code":
                script.write("".join(cell["source"]) + "\n\n")
os.environ["MYPYPATH"] = sys.argv[1]  # pictures.py
check = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=" + sys.argv[2], "--ignore-missing-imports"]
subprocess.run([*check, "-p", "certspec"], check=True)
subprocess.run([*check, "--allow-untyped-calls", *sorted(glob.glob("cells*.py"))], check=True)
`, notebooks, kept)
	})
	t.Run("doctests", func(t *testing.T) {
		do(t, "python", "-c", `
import certspec, doctest, importlib, pkgutil
total = 0
for name in ["certspec", *(module.name for module in pkgutil.iter_modules(certspec.__path__, "certspec."))]:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0, name
    total += result.attempted
assert total >= 4, total  # the other examples are in python/tests/details.txt
`)
	})
	t.Run("tests", func(t *testing.T) {
		tests, err := filepath.Abs("../../python/tests")
		if err != nil {
			t.Fatal(err)
		}
		if output := do(t, "python", "-m", "unittest", "discover", "-s", tests, "-t", tests); !strings.Contains(output, "\nOK\n") {
			t.Errorf("skipped tests:\n%s", output)
		}
	})
	t.Run("transformers", func(t *testing.T) { // with packages that the other tests do without
		more := environment(t, pyenv.Exporters)
		packages, err := exec.Command(more, "-c", "import sysconfig; print(sysconfig.get_path('purelib'), end='')").Output()
		if err != nil {
			t.Fatal(err)
		}
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		if output := do(t, "python", "-c", `
import sys, unittest
sys.path += sys.argv[1:]
unittest.main("vision_transformers", argv=["transformers"])
`, root+"/python/tests", string(packages)); !strings.Contains(output, "\nOK\n") {
			t.Errorf("skipped tests:\n%s", output)
		}
		output := do(t, "python", "-c", `
import os, runpy, sys
import numpy as np
sys.path.append(sys.argv[1])
from PIL import Image
for number in range(2):
    os.makedirs(f"pictures/{number}")
    Image.fromarray(np.full((40, 50, 3), 99 * number, np.uint8)).save(f"pictures/{number}/one.png")
sys.argv = [sys.argv[2], "pictures", "random-32", "100"]
runpy.run_path(sys.argv[0])
`, string(packages), root+"/examples/vit/certify.py")
		if !strings.Contains(output, "holds: 2 images") || !strings.Contains(output, "resize=32x32,filter=bilinear") {
			t.Errorf("%s", output)
		}
	})
	t.Run("examples", func(t *testing.T) {
		examples, err := filepath.Abs("../../examples")
		if err != nil {
			t.Fatal(err)
		}
		if output := do(t, "python", examples+"/denoise/certify.py"); !strings.Contains(output, "holds: 1 images") {
			t.Errorf("%s", output)
		}
		output := do(t, "python", "-c", `
import os, subprocess, sys
os.environ["PATH"] = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
sys.exit(subprocess.call(["bash", *sys.argv[1:]]))
`, examples+"/gate/release.sh", "joined.onnx", "joined.onnx", "synthetic/test[count=6]", "release")
		if !strings.Contains(output, "by class: 6 groups pass") || strings.Count(output, "the statement follows") != 2 {
			t.Errorf("%s", output)
		}
	})
	t.Run("checker", func(t *testing.T) {
		ledger, err := filepath.Abs("../../notebooks/results/quickstart.ledger")
		if err != nil {
			t.Fatal(err)
		}
		if said := do(t, "certcheck", ledger); !strings.Contains(said, "all holds: 500 images") ||
			!strings.Contains(said, "certified accuracy 0.8540 at 0") {
			t.Errorf("%s", said)
		}
	})
	t.Run("ONNX", func(t *testing.T) {
		do(t, "python", "-c", `
import certspec, torch
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(900, 10))
certspec.export_onnx(net, "net.onnx", shape=(32, 32, 3), mean=[0.5], std=[0.25, 0.25, 0.2])
`)
		// The library of the package onnxruntime is found without a variable.
		output := do(t, "certspec", "certify", "--model", "net.onnx", "--data", "synthetic/test", "--count", "2", "--sigma", "0.25", "--n", "200", "--rule", "fixed", "--out", "onnx.ledger")
		if !strings.Contains(output, "ONNX Runtime") || !strings.Contains(output, "std [0.25 0.25 0.2]") {
			t.Errorf("%s", output)
		}
	})
}
