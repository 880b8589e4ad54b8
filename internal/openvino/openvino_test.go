package openvino

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/testkit"
)

// What is missing or damaged in the cache is said, with what to do.
func TestLibrary(t *testing.T) {
	root := t.TempDir()
	t.Setenv(cache.Variable, root)
	offered := runtime.GOOS+"/"+runtime.GOARCH == "linux/amd64"
	want := map[bool]string{true: "certspec backend install openvino", false: "offered for linux/amd64"}[offered]
	if _, err := Library(); !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), want) {
		t.Fatalf("an empty cache: %v", err)
	}
	if !offered {
		return
	}
	dir := filepath.Join(root, "openvino", Version)
	for _, part := range parts {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Library(); err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), dir) {
			t.Errorf("without %s: %v", part, err)
		}
		testkit.Write(t, []byte("no library"), dir, part)
	}
	if _, err := Library(); err == nil || !strings.Contains(err.Error(), "not a shared library") {
		t.Errorf("damaged: %v", err)
	}
}

// Of the wheel only what a network on a CPU needs is kept, with the licences.
func TestKeep(t *testing.T) {
	for name, want := range map[string]string{
		"openvino/libs/libopenvino_c.so.2641":                  "libopenvino_c.so.2641",
		"openvino/libs/libopenvino_intel_cpu_plugin.so":        "libopenvino_intel_cpu_plugin.so",
		"openvino/libs/libopenvino_intel_gpu_plugin.so":        "",
		"openvino/libs/libtbb.so.12":                           "libtbb.so.12",
		"openvino/libs/cache.json":                             "",
		"openvino-2026.4.1.dist-info/licenses/LICENSE":         "LICENSE",
		"openvino-2026.4.1.dist-info/licenses/licensing/x.txt": "x.txt",
	} {
		if got := keep(name); got != want {
			t.Errorf("%s is kept as %q, want %q", name, got, want)
		}
	}
}
