package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// work names what a Python worker prepares; see python/worker.py.
type work struct {
	Task  string `json:"task"`
	Net   string `json:"net"`
	Batch int    `json:"batch"`

	Method string `json:"method,omitempty"` // of training
	Engine string `json:"engine,omitempty"` // of certspec
}

// worker is a contender in a process of its own that speaks the protocol of python/worker.py.
type worker struct {
	command   []string
	env       []string // additions to the environment
	work      work
	processor bool // rates are per second of processor time

	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	version string
	errors  tail

	units, faults float64 // of all turns
}

type answer struct {
	Version string  `json:"version,omitempty"`
	Units   float64 `json:"units,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Faults  float64 `json:"faults,omitempty"` // pages that the kernel had to provide
}

// inductorCache names the folder where torch.compile keeps what it compiled. The usual one, in the system's folder for temporary files, is shared by all
// programs, and one that is killed in the middle of linking leaves a library that ends too soon, on which every later run fails. So it is
// empty at the start of each run, unless the user names one.
const inductorCache = "TORCHINDUCTOR_CACHE_DIR"

// pythonWorker runs the contenders of a framework in one of its forms.
func pythonWorker(python, scripts, framework, form string, w work, env ...string) *worker {
	program := filepath.Join(scripts, "worker.py")
	if os.Getenv(inductorCache) == "" {
		env = append(slices.Clip(env), inductorCache+"="+filepath.Join(scripts, "inductor"))
	}
	return &worker{command: []string{python, "-B", "-W", "ignore", program, framework, form}, env: env, work: w}
}

func (w *worker) Version() string { return w.version }

func (w *worker) Prepare(ctx context.Context) error {
	w.cmd = exec.CommandContext(ctx, w.command[0], w.command[1:]...)
	w.cmd.Env = append(os.Environ(), w.env...)
	w.cmd.Stderr = &w.errors
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	w.out = bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		return err
	}
	hello, err := w.read()
	if err != nil {
		return err
	}
	w.version = hello.Version
	prepared, err := w.ask(map[string]any{"prepare": w.work})
	w.version = cmp.Or(prepared.Version, w.version)
	return err
}

// faultsPerUnit are the page faults in the turns, 0 where they are not counted.
func (w *worker) faultsPerUnit() float64 { return w.faults / max(w.units, 1) }

func (w *worker) Run(_ context.Context, d time.Duration) (units float64, elapsed time.Duration, err error) {
	a, err := w.ask(map[string]any{"run": d.Seconds(), "processor": w.processor})
	if err != nil {
		return 0, 0, err
	}
	if !(a.Units > 0 && a.Seconds > 0) {
		return 0, 0, fmt.Errorf("worker answered %v units in %v seconds, want both positive", a.Units, a.Seconds)
	}
	w.units, w.faults = w.units+a.Units, w.faults+a.Faults
	return a.Units, time.Duration(a.Seconds * float64(time.Second)), nil
}

func (w *worker) Close() {
	if w.cmd == nil || w.cmd.Process == nil {
		return
	}
	w.in.Close() // the end of its input ends the worker
	w.cmd.Wait()
	w.cmd = nil
}

func (w *worker) ask(request any) (answer, error) {
	if err := json.NewEncoder(w.in).Encode(request); err != nil {
		return answer{}, w.failure(err)
	}
	return w.read()
}

func (w *worker) read() (a answer, err error) {
	if !w.out.Scan() {
		return a, w.failure(errors.Join(w.out.Err(), errors.New("worker ended")))
	}
	if err := json.Unmarshal(w.out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("worker printed %q, want JSON: %w", w.out.Text(), err)
	}
	return a, nil
}

// failure adds the last line that the worker wrote to its standard error.
func (w *worker) failure(err error) error {
	w.cmd.Wait()
	if line := w.errors.lastLine(); line != "" {
		return fmt.Errorf("%w: %s", err, line)
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - 4096; extra > 0 {
		t.buf = t.buf[extra:]
	}
	return len(p), nil
}

func (t *tail) lastLine() string {
	text := strings.TrimSpace(string(t.buf))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
