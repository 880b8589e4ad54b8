package testkit

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/npy"
)

const limited = "CERTSPEC_TEST_LIMITED"

// Given is the value that Limited gave to a test in a process under limits; empty elsewhere.
func Given() string { return os.Getenv(limited) }

// Limited runs a test again in a process of its own, under limits that a shell sets, as "ulimit -d 250000", and gives
// it a word.
func Limited(t *testing.T, limits, given string, env ...string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", limits+` && exec "$0" -test.v -test.run "^$1\$"`, os.Args[0], t.Name())
	// On a busy machine the collector falls behind: it begins early, as garbage is not what is measured.
	cmd.Env = append(append(os.Environ(), limited+"="+given, "GOGC=20"), env...)
	out, err := cmd.CombinedOutput()
	if t.Logf("%.3000s", out); err != nil {
		t.Error(err)
	}
}

// Sparse writes a NumPy array of zeros as it would have been an hour ago; the file takes no room. Kind is a type of
// NumPy's, as "|u1", whose last digit is its bytes.
func Sparse(t testing.TB, path, kind string, shape ...int) string {
	t.Helper()
	size := int64(kind[len(kind)-1] - '0')
	for _, n := range shape {
		size *= int64(n)
	}
	head, old := npy.Header{Type: kind, Shape: slices.Clone(shape)}.Append(nil), time.Now().Add(-time.Hour)
	Write(t, head, path)
	err := os.Truncate(path, int64(len(head))+size)
	if err == nil {
		err = os.Chtimes(path, old, old)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
