package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"

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
	folder, err := os.MkdirTemp("", "certspec-bench-") // of this run alone: another one may run beside it
	if err != nil {
		return "", "", err
	}
	return python, filepath.Join(folder, "python"), os.CopyFS(folder, programs)
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
		entries = append(entries, entry{"PyTorch eager, channels last, tuned malloc", pythonWorker(python, scripts, "torch", "channels-last", w, largeHeap...)})
	}
	return append(entries,
		entry{"torch.compile", pythonWorker(python, scripts, "torch", "compile", w, largeHeap...)},
		entry{"JAX jit", pythonWorker(python, scripts, "jax", "jit", w)})
}
