// Package openvino puts OpenVINO's library into certspec's cache, and finds it there.
package openvino

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/sharedlib"
	"github.com/certspec/certspec/internal/wheel"
	"github.com/certspec/certspec/progress"
)

// Version of OpenVINO that Install fetches.
const Version = "2026.4.1"

// Precisions are those that a network can be asked to compute in, the default first. No processor need have the others.
var Precisions = []string{"f32", "bf16", "f16"}

// ErrNotInstalled says that the library is not on this machine.
var ErrNotInstalled = errors.New("OpenVINO is not installed")

// release is Version in the names of libraries.
const release = ".so.2641"

// linuxAMD64 is the package openvino of the index. The libraries inside do not depend on the version of Python.
var linuxAMD64 = wheel.Wheel{
	Package: "openvino", Version: Version, Platform: "manylinux_2_28_x86_64", Python: "3.11",
	SHA256: "2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf",
}

// parts are the libraries that a network from an ONNX file needs on a CPU: the C API, the core, the plugin of the CPU,
// the reader of ONNX, and threads.
var parts = []string{"libopenvino_c" + release, "libopenvino" + release, "libopenvino_intel_cpu_plugin.so",
	"libopenvino_onnx_frontend" + release, "libtbb.so.12"}

// Install puts the libraries into certspec's cache, where they are missing, and returns the path of that with the C
// API. It reports what takes time; show may be nil.
func Install(ctx context.Context, show progress.Reporter) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	if err := wheel.Install(ctx, linuxAMD64, dir, keep, show); err != nil {
		return "", fmt.Errorf("openvino: %w", err)
	}
	return Library()
}

// keep picks the libraries and the licences out of the wheel.
func keep(name string) string {
	if base := path.Base(name); slices.Contains(parts, base) || strings.Contains(name, "/licenses/") {
		return base
	}
	return ""
}

// Library is the path of the library with the C API, which has been looked into, not loaded. Errors: ErrNotInstalled,
// a part that is missing or damaged.
func Library() (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w; certspec backend install openvino fetches it", ErrNotInstalled)
	}
	for _, part := range parts {
		if _, err := os.Stat(filepath.Join(dir, part)); err != nil {
			return "", fmt.Errorf("openvino: %w; remove the folder %s and install again", err, dir)
		}
	}
	library := filepath.Join(dir, parts[0])
	if err := sharedlib.Inspect(library, "ov_core_create", "OpenVINO"); err != nil {
		return "", fmt.Errorf("openvino: library %w; remove the folder %s and install again", err, dir)
	}
	return library, nil
}

func folder() (string, error) {
	if platform := runtime.GOOS + "/" + runtime.GOARCH; platform != "linux/amd64" {
		return "", fmt.Errorf("%w: it is offered for linux/amd64, and this is %s; take the engine onnxruntime",
			ErrNotInstalled, platform)
	}
	root, err := cache.Dir("openvino")
	if err != nil {
		return "", err
	}
	return filepath.Join(root, Version), nil
}
