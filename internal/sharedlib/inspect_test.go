package sharedlib

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// library is a shared library that every Linux with the C library has.
func systemLibrary(t *testing.T) []byte {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("looks for the C library in the places of Linux")
	}
	for _, pattern := range []string{"/lib/*/libc.so.6", "/lib64/libc.so.6", "/usr/lib*/libc.so.6"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if data, err := os.ReadFile(path); err == nil {
				return data
			}
		}
	}
	t.Skip("no C library found")
	return nil
}

func TestInspect(t *testing.T) {
	library := systemLibrary(t)
	foreign := append([]byte(nil), library...)
	foreign[18], foreign[19] = 243, 0 // e_machine: RISC-V
	for name, c := range map[string]struct {
		data  []byte
		entry string
		want  string // of the error; "" for none
	}{
		"good":        {library, "malloc", ""},
		"other":       {library, "GetPjrtApi", "does not export GetPjrtApi"},
		"imported":    {library, "__tls_get_addr", "does not export"}, // the loader's, not the C library's
		"empty":       {nil, "malloc", "the file is empty"},
		"junk":        {[]byte("<html>not found</html>"), "malloc", "not a shared library"},
		"header only": {library[:64], "malloc", "truncated"},
		"truncated":   {library[:len(library)*9/10], "malloc", "truncated"},
		"foreign":     {foreign, "malloc", "built for EM_RISCV"},
	} {
		path := testkit.Write(t, c.data, t.TempDir(), "lib.so")
		err := Inspect(path, c.entry, "thing")
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path)):
			t.Errorf("%s: %v; expected an error with %q", name, err, c.want)
		}
	}
	if err := Inspect(filepath.Join(t.TempDir(), "none.so"), "malloc", "thing"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing: %v", err)
	}
	if err := Inspect(t.TempDir(), "malloc", "thing"); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("folder: %v", err)
	}
}

// FuzzInspect: whatever a file holds, reading its headers ends with a sentence.
func FuzzInspect(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01\x00"))
	f.Add([]byte("\xcf\xfa\xed\xfe\x0c\x00\x00\x01"))
	f.Add([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := testkit.Write(t, data, t.TempDir(), "lib")
		for _, inspect := range []func(string, string) (library, error){inspectELF, inspectMachO} {
			_, _ = inspect(path, "f")
		}
	})
}
