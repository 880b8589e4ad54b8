package jupyter

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The Python of the lab imports the package of this checkout, which runs the program that opened the lab.
func TestPythonOfTheLab(t *testing.T) {
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	variables, err := pythonVariables(t.Context(), checkout)
	if err != nil {
		t.Fatal(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on the PATH")
	}
	const names = "import importlib.util as u, os; print(u.find_spec('certspec').origin, os.environ['CERTSPEC_PROGRAM'], " +
		"os.path.basename(os.environ['CERTSPEC_DATA']))"
	cmd := exec.Command(python, "-c", names)
	cmd.Env = append(cmd.Environ(), "CERTSPEC_DATA=")
	cmd.Env = append(cmd.Env, variables...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), filepath.Join(checkout, "python/certspec/__init__.py")) ||
		!strings.Contains(string(out), "jupyter.test ") {
		t.Errorf("%s: %v", out, err)
	}
}
