//go:build external

// Package external compares certspec with other software: NumPy, SciPy, scikit-learn, HiGHS, Pillow, safetensors and ONNX,
// in a Python environment of their own, and PyTorch in the benchmarks' one. "make test-external" runs it.
package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// python runs a script in the environment. The script finds arg as the variable arg and
// leaves its answer in the variable answer, which is decoded into answer.
func python(t *testing.T, script string, arg, answer any) {
	t.Helper()
	pythonOf(t, interpreter(t), script, arg, answer)
}

func interpreter(t *testing.T) string {
	t.Helper()
	return environment(t, pyenv.External)
}

// environment is the interpreter of an environment, which is installed where it is not there.
func environment(t *testing.T, e pyenv.Set) string {
	t.Helper()
	program, err := pyenv.Ensure(t.Context(), e, progress.Messages(t.Logf))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// builtProgram is certspec of this checkout, linked once for all tests of a run.
func builtProgram(t *testing.T) string {
	t.Helper()
	program, err := programOnce()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var programOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "certspec-program")
	if err != nil {
		return "", err
	}
	atEnd = func() { os.RemoveAll(dir) }
	program := filepath.Join(dir, "certspec")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/certspec").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// atEnd clears up after all tests.
var atEnd = func() {}

// pythonOf is python in another environment.
func pythonOf(t *testing.T, program, script string, arg, answer any) {
	t.Helper()
	input, err := json.Marshal(arg)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", "import json, sys\narg = json.load(sys.stdin)\nanswer = None\n"+script+"\njson.dump(answer, sys.stdout)")
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(output, answer); err != nil {
		t.Fatalf("python answers %.200q: %v", output, err)
	}
}

// copyTree copies what a build of the image would get: the file from, or for . all that git knows or does not ignore.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	files := []string{from}
	if from == "." {
		cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git ls-files: %v", err)
		}
		files = strings.Fields(string(out))
	}
	for _, file := range files {
		source := filepath.Join("../..", file)
		info, err := os.Stat(source)
		if err != nil {
			continue // deleted, and not yet committed
		}
		target := filepath.Join(to, file)
		if from != "." {
			target = filepath.Join(to, filepath.Base(file))
		}
		data, err := os.ReadFile(source)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(target), 0o755)
		}
		if err == nil {
			err = os.WriteFile(target, data, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", file, err))
		}
	}
}
