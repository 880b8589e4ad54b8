package pyenv

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
)

// fakePython writes a program that answers describe with the given lines, makes a fake environment for
// "-m venv", and copies itself there; every call is recorded.
func fakePython(t *testing.T, version, canMakeEnvironments, newEnough string) (dir, calls string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for Python is a shell script")
	}
	dir = t.TempDir()
	calls = filepath.Join(dir, "calls")
	script := `#!/bin/sh
echo "$*" >> '` + calls + `'
case "$1 $2" in
"-c "*) printf '%s\n' '` + version + `' '/some where' '` + canMakeEnvironments + `' '` + newEnough + `' ;;
"-m venv") for d; do :; done; mkdir -p "$d/bin"; cp "$0" "$d/bin/python" ;;
"-m pip") test -z "$FAIL_PIP" || { echo "no route to host" >&2; exit 1; } ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(Variable, "")
	t.Setenv("CERTSPEC_CACHE", filepath.Join(t.TempDir(), "a cache"))
	return dir, calls
}

func TestMissingPiecesAreNamed(t *testing.T) {
	for _, c := range []struct{ version, venv, recent, want string }{
		{"3.11.2", "False", "True", "apt install python3-venv"},
		{"3.8.10", "True", "False", "3.9 or newer is needed"},
	} {
		fakePython(t, c.version, c.venv, c.recent)
		_, err := Ensure(context.Background(), Notebook, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.version) {
			t.Errorf("Python %s, venv %s: error %q, want one with %q and the version", c.version, c.venv, err, c.want)
		}
	}
	t.Setenv(Variable, "no-such-python")
	if _, err := Ensure(context.Background(), Notebook, nil); err == nil || !strings.Contains(err.Error(), "no-such-python") {
		t.Errorf("error %q does not name the Python that was looked for", err)
	}
}

func TestEnvironmentIsMadeOnce(t *testing.T) {
	_, calls := fakePython(t, "3.11.2", "True", "True")
	said := 0
	say := progress.Messages(func(string, ...any) { said++ })
	first, err := Ensure(context.Background(), Notebook, say)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Ensure(context.Background(), Notebook, say)
	if err != nil || second != first {
		t.Fatalf("second call: %q, %v; want %q again", second, err, first)
	}
	log := testkit.Read(t, calls)
	if n := strings.Count(string(log), "-m venv"); n != 1 || said != 1 {
		t.Errorf("%d environments made, %d messages; want one each", n, said)
	}
	other, err := Ensure(context.Background(), External, nil)
	if err != nil || other == first {
		t.Errorf("another set shares the environment %q (%v)", other, err)
	}
}

// Two that ask at once do not delete what the other makes.
func TestTwoAtOnce(t *testing.T) {
	_, calls := fakePython(t, "3.11.2", "True", "True")
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := Ensure(t.Context(), Notebook, nil)
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	log, err := os.ReadFile(calls)
	if n := strings.Count(string(log), "-m venv"); err != nil || n != 1 {
		t.Errorf("%d environments made, %v; want one", n, err)
	}
}

func TestFailedInstallIsTriedAgain(t *testing.T) {
	fakePython(t, "3.11.2", "True", "True")
	t.Setenv("FAIL_PIP", "yes")
	if _, err := Ensure(context.Background(), Notebook, nil); err == nil || !strings.Contains(err.Error(), "no route to host") {
		t.Fatalf("error %q hides what pip said", err)
	}
	t.Setenv("FAIL_PIP", "")
	if _, err := Ensure(context.Background(), Notebook, nil); err != nil {
		t.Fatalf("after the network is back: %v", err)
	}
}

// Every line of a requirements file must fix a version, or two machines would differ.
func TestRequirementsArePinned(t *testing.T) {
	for _, set := range []Set{Notebook, Lab, External, Corruptions, NumPy, Wheel, Relplot, Calibration} {
		for line := range strings.Lines(set.requirements) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && !strings.Contains(line, "==") {
				t.Errorf("%s: %q fixes no version", set.name, line)
			}
		}
	}
}
