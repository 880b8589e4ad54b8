package testkit

import (
	"os"
	"os/exec"
	"testing"
)

const limited = "CERTSPEC_TEST_LIMITED"

// Given is what Limited gave to a test in a process under limits; empty elsewhere.
func Given() string { return os.Getenv(limited) }

// Limited runs a test again in a process of its own, under limits that a shell sets, as "ulimit -d 250000", and gives
// it a word.
func Limited(t *testing.T, limits, given string, env ...string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", limits+` && exec "$0" -test.v -test.run "^$1\$"`, os.Args[0], t.Name())
	cmd.Env = append(append(os.Environ(), limited+"="+given), env...)
	out, err := cmd.CombinedOutput()
	if t.Logf("%.3000s", out); err != nil {
		t.Error(err)
	}
}
