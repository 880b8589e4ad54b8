package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/sharedlib"
)

// Variable is the environment variable that names the library of ONNX Runtime, where the
// options do not.
const Variable = "CERTSPEC_ONNXRUNTIME"

// entryPoint is the one function that the library exports (onnxruntime_c_api.h).
const entryPoint = "OrtGetApiBase"

// oldestMinor is the oldest release 1.x whose C API the binding can use: version x of the
// API came with it, and later releases keep it (ORT_API_VERSION of the binding's header).
const oldestMinor = 29

// ErrNoLibrary says that there is no library of ONNX Runtime on this machine.
var ErrNoLibrary = errors.New("no library of ONNX Runtime found; certspec backend install onnxruntime fetches it, or " +
	Variable + " names one")

// Library returns the path of the library that Open uses: the named one, else the one in the
// environment variable, else the one of the Python package onnxruntime in the environment that this program is
// installed in, unless it is too old, else that in certspec's cache, else ErrNoLibrary. The file has been
// looked into, not loaded.
func Library(named string) (string, error) {
	if !linked {
		return "", fmt.Errorf("onnx: %s", notLinked)
	}
	library := named
	if library == "" {
		library = os.Getenv(Variable)
	}
	if library == "" {
		library = libraryOfPackage(os.Executable())
	}
	if library == "" {
		cached, found := cachedLibrary()
		if !found {
			return "", fmt.Errorf("onnx: %w", ErrNoLibrary)
		}
		library = cached
	}
	absolute, err := filepath.Abs(library)
	if err != nil {
		return "", fmt.Errorf("onnx: library %s: %w", library, err)
	}
	return absolute, checkLibrary(absolute)
}

// libraryOfPackage is the library of the package onnxruntime beside a program that pip installed:
// PREFIX/bin/certspec and PREFIX/lib/python3.x/site-packages/onnxruntime.
func libraryOfPackage(program string, err error) string {
	if err != nil || filepath.Base(filepath.Dir(program)) != "bin" {
		return ""
	}
	prefix := filepath.Dir(filepath.Dir(program))
	for _, packages := range []string{"site-packages", "dist-packages"} {
		files, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*", packages, "onnxruntime", "capi",
			"libonnxruntime.*"))
		for _, file := range files {
			if isLibrary(filepath.Base(file)) && !tooOld(filepath.Base(file)) {
				return file
			}
		}
	}
	return ""
}

// tooOld tells whether the name of a library has the version of a release that cannot be used.
func tooOld(name string) bool {
	version := versionInName.FindStringSubmatch(name)
	return version != nil && checkVersion(name, version[1]) != nil
}

// versionInName reads the version in libonnxruntime.so.1.31.1 and libonnxruntime.1.31.1.dylib.
var versionInName = regexp.MustCompile(`\.(\d+\.\d+\.\d+)`)

func checkLibrary(path string) error {
	if err := sharedlib.Inspect(path, entryPoint, "ONNX Runtime"); err != nil {
		return fmt.Errorf("onnx: library %w", err)
	}
	return nil
}

func cachedLibrary() (string, bool) {
	dir, err := cachedFolder()
	if err != nil {
		return "", false
	}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if isLibrary(entry.Name()) {
			return filepath.Join(dir, entry.Name()), true
		}
	}
	return "", false
}

// checkVersion tells whether a library of this version can be used.
func checkVersion(path, version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, errX := strconv.Atoi(major)
	y, errY := strconv.Atoi(minor)
	switch {
	case errX != nil || errY != nil:
		return fmt.Errorf("onnx: library %s calls its version %q; expected 1.%d or newer", path, version, oldestMinor)
	case x != 1 || y < oldestMinor:
		remedy := fmt.Sprintf("certspec backend install onnxruntime fetches %s", installedVersion)
		if named := os.Getenv(Variable); named != "" && samePath(named, path) {
			remedy = "unset " + Variable + ", which names it; " + remedy
		}
		return fmt.Errorf("onnx: library %s is ONNX Runtime %s; 1.%d or newer is needed (%s)", path, version,
			oldestMinor, remedy)
	}
	return nil
}

func samePath(a, b string) bool {
	absolute, err := filepath.Abs(a)
	return err == nil && absolute == b
}
