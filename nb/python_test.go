package nb

import (
	"os"
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	if got := Output(os.Args[0], "-test.list=^TestOutput$"); got != "TestOutput" {
		t.Errorf("output %q", got)
	}
	code, said := stopped(t, func() { Output(os.Args[0], "-test.no-such-flag") })
	if code != 1 || !strings.Contains(said, "-test.no-such-flag: exit status 2\n") || !strings.Contains(said, "flag provided but not defined") || !strings.Contains(said, "python_test.go:") {
		t.Errorf("exit code %d, %q; expected the command and what it said", code, said)
	}
	if code, said = stopped(t, func() { Output("no-such-program-of-certspec") }); code != 1 || !strings.Contains(said, "no-such-program-of-certspec") {
		t.Errorf("exit code %d, %q", code, said)
	}
}

// Where no Python is found that is an error for the notebook to go on from, and not its end.
func TestNoPython(t *testing.T) {
	t.Setenv("CERTSPEC_PYTHON", "no-such-python")
	if program, err := Python(); err == nil || !strings.Contains(err.Error(), "no-such-python") {
		t.Errorf("%q, %v", program, err)
	}
}
