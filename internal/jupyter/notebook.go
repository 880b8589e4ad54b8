package jupyter

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// ProgressVariable is the environment variable that names a file into which a cell writes its progress as JSON.
const ProgressVariable = "CERTSPEC_PROGRESS"

// TierVariable is the environment variable that tells a notebook how much to compute.
const TierVariable = "CERTSPEC_TIER"

// BatchVariable is the environment variable that tells cells that nobody moves their sliders.
const BatchVariable = "CERTSPEC_BATCH"

// Options say how to run a notebook.
type Options struct {
	Tier     string            // "fast" or "paper"; empty leaves it to the notebook
	Dir      string            // where the copy runs and what it writes stays
	Timeout  time.Duration     // for one cell; 0 means an hour
	HTML     bool              // also make a web page of the executed copy
	Warm     bool              // what a first cell needs is compiled, as by a run of another notebook before
	Version  string            // of the running program
	Progress progress.Reporter // of the installations and of the cells; may be nil
}

// Executed is the result of a run.
type Executed struct {
	Notebook string `json:"notebook"`       // the executed copy
	HTML     string `json:"html,omitempty"` // its web page
}

// Run executes a copy of the notebook file in opt.Dir. Everything beside the notebook that it may
// need (its models and results) is copied along; what it writes goes to opt.Dir and stays there,
// so that a second run finds its files again. A cell that fails is an error with the cell's text.
func Run(ctx context.Context, file string, opt Options) (Executed, error) {
	python, err := pyenv.Ensure(ctx, pyenv.Notebook, opt.Progress)
	if err != nil {
		return Executed{}, err
	}
	dir, err := filepath.Abs(opt.Dir)
	if err != nil {
		return Executed{}, err
	}
	source := filepath.Dir(file)
	for _, need := range []string{filepath.Base(file), "models", "results"} {
		if err := copyInto(dir, source, need); err != nil {
			return Executed{}, fmt.Errorf("notebook: %w", err)
		}
	}
	jupyter := filepath.Join(dir, ".jupyter")
	if _, err := install(ctx, jupyter, opt.Version, opt.Warm, opt.Progress, "--raw_error"); err != nil {
		return Executed{}, err
	}
	opt.Timeout = cmp.Or(opt.Timeout, time.Hour)
	env := append(os.Environ(), "JUPYTER_DATA_DIR="+jupyter, "JUPYTER_RUNTIME_DIR="+filepath.Join(jupyter, "runtime"),
		"JUPYTER_CONFIG_DIR="+filepath.Join(jupyter, "config"), "IPYTHONDIR="+jupyter, "PYTHONPATH=", "PYTHONHOME=")
	env = append(env, BatchVariable+"=1")
	if opt.Tier != "" {
		env = append(env, TierVariable+"="+opt.Tier)
	}
	if opt.Progress != nil {
		file := filepath.Join(jupyter, "progress.json")
		env = append(env, ProgressVariable+"="+file)
		defer follow(file, opt.Progress)()
	}
	done := Executed{Notebook: filepath.Join(dir, filepath.Base(file))}
	if err := convert(ctx, python, env, "--execute", "--to", "notebook", "--inplace",
		"--ExecutePreprocessor.kernel_name="+KernelName,
		"--ExecutePreprocessor.record_timing=False",
		"--ExecutePreprocessor.interrupt_on_timeout=True",
		fmt.Sprintf("--ExecutePreprocessor.timeout=%d", int(opt.Timeout.Seconds())),
		done.Notebook); err != nil {
		return Executed{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := after(ctx, python, env, jupyter, "tidy", done.Notebook); err != nil {
		return Executed{}, fmt.Errorf("%s: %w", file, err)
	}
	if opt.HTML {
		if err := after(ctx, python, env, jupyter, "page", done.Notebook); err != nil {
			return Executed{}, fmt.Errorf("%s: %w", file, err)
		}
		done.HTML = strings.TrimSuffix(done.Notebook, ".ipynb") + ".html"
	}
	return done, nil
}

// Page writes the web page of an executed notebook beside it and returns its name. The page needs no network.
func Page(ctx context.Context, notebook string, show progress.Reporter) (html string, err error) {
	return made(ctx, notebook, "", show)
}

// Slides writes slides of some parts of a notebook beside it, such as 1-3, and returns their name. A browser that
// shows them loads Reveal.js from the network.
func Slides(ctx context.Context, notebook, parts string, show progress.Reporter) (html string, err error) {
	return made(ctx, notebook, parts, show)
}

func made(ctx context.Context, notebook, parts string, show progress.Reporter) (html string, err error) {
	python, err := pyenv.Ensure(ctx, pyenv.Notebook, show)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "certspec-page-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	env := append(os.Environ(), "JUPYTER_CONFIG_DIR="+dir, "IPYTHONDIR="+dir, "PYTHONPATH=", "PYTHONHOME=")
	task, end := []string{"page", notebook}, ".html"
	if parts != "" {
		task, end = []string{"slides", notebook, parts}, ".slides.html"
	}
	if err := after(ctx, python, env, dir, task...); err != nil {
		return "", fmt.Errorf("%s: %w", notebook, err)
	}
	return strings.TrimSuffix(notebook, ".ipynb") + end, nil
}

// follow passes on what cells write to file, until the function that it returns is called.
func follow(file string, report progress.Reporter) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	_ = os.Remove(file) // of an earlier run
	go func() {
		defer close(done)
		var last []byte
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second / 2):
			}
			data, err := os.ReadFile(file)
			var state progress.State
			if err != nil || bytes.Equal(data, last) || json.Unmarshal(data, &state) != nil {
				continue
			}
			last = data
			report(state)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

//go:embed notebook.py
var afterwards []byte

// after does a task of notebook.py, which begins with its name and the executed notebook; the script is put into dir.
func after(ctx context.Context, python string, env []string, dir string, task ...string) error {
	script := filepath.Join(dir, "notebook.py")
	if err := atomicfile.Write(script, afterwards); err != nil {
		return err
	}
	return runPython(ctx, python, env, append([]string{script}, task...)...)
}

// convert runs nbconvert.
func convert(ctx context.Context, python string, env []string, args ...string) error {
	return runPython(ctx, python, env, append([]string{"-m", "nbconvert"}, args...)...)
}

// runPython runs Python and shows the end of what it said only where it fails.
func runPython(ctx context.Context, python string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", what(args), err, excerpt(log.String()))
	}
	return nil
}

// excerpt is the part of nbconvert's log that says which cell failed and how, else its end.
func excerpt(log string) string {
	const marker = "An error occurred while executing the following cell:"
	if i := strings.LastIndex(log, marker); i >= 0 {
		return log[i:]
	}
	return log[max(0, len(log)-4000):]
}

// copyInto copies the file or folder name below from, where there is one, to the folder to.
func copyInto(to, from, name string) error {
	return filepath.WalkDir(filepath.Join(from, name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) && path == filepath.Join(from, name) && filepath.Ext(name) != ".ipynb" {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return atomicfile.Write(target, data)
	})
}

// what names the program that Python runs: a module or a script.
func what(args []string) string {
	if len(args) > 1 && args[0] == "-m" {
		return args[1]
	}
	return filepath.Base(args[0])
}
