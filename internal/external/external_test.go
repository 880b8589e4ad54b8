//go:build external

// Package external compares certspec with other software: NumPy, SciPy, scikit-learn, HiGHS, Pillow, safetensors and ONNX,
// in a Python environment of their own, and PyTorch in that of the benchmarks. "make test-external" runs it.
package external

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/certspec/certspec/internal/pyenv"
)

// python runs a script in the environment. The script finds arg as the variable arg and
// leaves its answer in the variable answer, which is decoded into answer.
func python(t *testing.T, script string, arg, answer any) {
	t.Helper()
	pythonOf(t, interpreter(t), script, arg, answer)
}

func interpreter(t *testing.T) string {
	t.Helper()
	program, err := pyenv.Ensure(context.Background(), pyenv.External, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

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
