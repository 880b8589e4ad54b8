package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

//go:embed python/*.py
var programs embed.FS

// pythonSide makes sure of the Python environment of the other software, and writes our
// programs for it into a folder of this run.
func pythonSide(ctx context.Context) (python, scripts string, err error) {
	return pythonOf(ctx, pyenv.Bench)
}

// pythonOf is pythonSide with another environment.
func pythonOf(ctx context.Context, set pyenv.Set) (python, scripts string, err error) {
	python, err = pyenv.Ensure(ctx, set, progress.Messages(say))
	if err != nil {
		return "", "", err
	}
	scripts, err = written(programs)
	return python, scripts, err
}

// packagesOf is the folder of the packages of a Python, for the search path of another.
func packagesOf(ctx context.Context, python string) (string, error) {
	out, err := exec.CommandContext(ctx, python, "-c",
		"import sysconfig; print(sysconfig.get_path('purelib'), end='')").Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", python, err)
	}
	return string(out), nil
}

// written writes the programs into a folder of the cache that has their digest in its name, so that runs of several
// versions do not disturb each other.
func written(programs fs.FS) (scripts string, err error) {
	sum := sha256.New()
	err = fs.WalkDir(programs, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(programs, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", err
	}
	root, err := cache.Dir("bench")
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, fmt.Sprintf("%.12x", sum.Sum(nil)))
	err = fs.WalkDir(programs, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(folder, path), 0o777)
		}
		text, err := fs.ReadFile(programs, path)
		if err != nil {
			return err
		}
		return atomicfile.Write(filepath.Join(folder, path), text)
	})
	return filepath.Join(folder, "python"), err
}

// say tells what takes time.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// largeHeap makes glibc's malloc keep freed memory instead of giving it back to the system
// and taking it again at every step, which costs PyTorch's eager mode up to half of its speed.
var largeHeap = []string{
	"MALLOC_MMAP_THRESHOLD_=4294967296",
	"MALLOC_TRIM_THRESHOLD_=4294967296",
	"MALLOC_TOP_PAD_=268435456",
}

// pythonEntries are the contenders of other software for the work on a net.
func pythonEntries(python, scripts string, w work) []entry {
	entries := []entry{
		{"PyTorch eager", pythonWorker(python, scripts, "torch", "eager", w)},
		{"PyTorch eager, tuned malloc", pythonWorker(python, scripts, "torch", "eager", w, largeHeap...)},
	}
	if w.Task == "train" {
		entries = append(entries, entry{"PyTorch eager, channels last, tuned malloc",
			pythonWorker(python, scripts, "torch", "channels-last", w, largeHeap...)})
	}
	return append(entries,
		entry{"torch.compile", pythonWorker(python, scripts, "torch", "compile", w, largeHeap...)},
		entry{"JAX jit", pythonWorker(python, scripts, "jax", "jit", w)})
}
