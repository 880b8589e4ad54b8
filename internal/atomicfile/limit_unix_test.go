//go:build unix

package atomicfile

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

const limitedVariable = "ATOMICFILE_TEST_PATH"

// A write that the system cuts short leaves the old file whole and nothing beside it.
func TestWriteCutShort(t *testing.T) {
	if path := os.Getenv(limitedVariable); path != "" {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: 1000, Max: 1000} // bytes in a file
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		if err := Write(path, make([]byte, 2000)); err == nil {
			t.Error("2000 bytes were written into files of at most 1000")
		}
		return
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	limited := exec.Command(os.Args[0], "-test.run=^TestWriteCutShort$")
	limited.Env = append(os.Environ(), limitedVariable+"="+path)
	if out, err := limited.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("files left: %v, %v", entries, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "old" {
		t.Errorf("the file holds %q, %v; want the old contents", data, err)
	}
}
