package onnx

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

func TestNoLibrary(t *testing.T) {
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	t.Setenv(Variable, "")
	_, err := Library("")
	if !linked {
		if err == nil || !strings.Contains(err.Error(), notLinked) {
			t.Errorf("%v; expected how to build with ONNX Runtime", err)
		}
		return
	}
	if !errors.Is(err, ErrNoLibrary) {
		t.Errorf("%v; expected ErrNoLibrary", err)
	}

	dir := t.TempDir()
	put := func(name, text string) string {
		return testkit.Write(t, []byte(text), dir, name)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.so"):            "no such file",
		put("empty.so", ""):                      "the file is empty",
		put("junk.so", "<html>not found</html>"): "not a shared library",
		dir:                                      "is a folder",
	} {
		if _, err := Library(path); err == nil || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected an error with %q", err, want)
		}
		t.Setenv(Variable, path)
		if _, err := Library(""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("by %s: %v; expected an error with %q", Variable, err, want)
		}
	}
}

// A library of another version is refused before the binding sees it. The library is one
// that calls itself what we like.
func TestLibraryVersions(t *testing.T) {
	if !linked {
		t.Skip(notLinked)
	}
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to make a library with")
	}
	for version, want := range map[string]string{
		"1.17.3": regexp.QuoteMeta("is ONNX Runtime 1.17.3; 1.29 or newer is needed (certspec backend install onnxruntime fetches " + installedVersion + ")"),
		"2.0.0":  "is ONNX Runtime 2.0.0; 1.29 or newer",
		"banana": `calls its version "banana"`,
	} {
		dir := t.TempDir()
		source, library := filepath.Join(dir, "fake.c"), filepath.Join(dir, "libfake.so")
		code := `static const void *api(unsigned v) { return 0; }
static const char *version(void) { return "` + version + `"; }
static struct { void *api, *version; } base = { api, version };
void *OrtGetApiBase(void) { return &base; }
`
		testkit.Write(t, []byte(code), source)
		if output, err := exec.Command(compiler, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
			t.Skipf("the C compiler makes no libraries: %v\n%s", err, output)
		}
		found, err := Library(library)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := loadLibrary(found); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) || !strings.Contains(err.Error(), library) {
			t.Errorf("version %s: %v; expected %s", version, err, want)
		}
	}
}

func TestKeepLibrary(t *testing.T) {
	for name, want := range map[string]string{
		"onnxruntime/capi/libonnxruntime.so.1.31.1":                                   "libonnxruntime.so.1.31.1",
		"onnxruntime/capi/libonnxruntime.1.31.1.dylib":                                "libonnxruntime.1.31.1.dylib",
		"onnxruntime/capi/libonnxruntime_providers_shared.so":                         "libonnxruntime_providers_shared.so",
		"onnxruntime/LICENSE":                                                         "LICENSE",
		"onnxruntime/ThirdPartyNotices.txt":                                           "ThirdPartyNotices.txt",
		"onnxruntime/capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so": "",
		"onnxruntime/__init__.py":                                                     "",
	} {
		if got := keepLibrary(name); got != want {
			t.Errorf("%s: %q; expected %q", name, got, want)
		}
	}
}

// A program that pip installed finds the library of the package onnxruntime in the same environment.
func TestLibraryOfPackage(t *testing.T) {
	prefix := t.TempDir()
	program := filepath.Join(prefix, "bin", "certspec")
	if got := libraryOfPackage(program, nil); got != "" {
		t.Errorf("%s where there is none", got)
	}
	capi := filepath.Join(prefix, "lib", "python3.11", "site-packages", "onnxruntime", "capi")
	if err := os.MkdirAll(capi, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"libonnxruntime.so.1.31.1", "onnxruntime_pybind11_state.so", "libonnxruntime.so.txt"} {
		testkit.Write(t, nil, capi, name)
	}
	want := filepath.Join(capi, "libonnxruntime.so.1.31.1")
	if got := libraryOfPackage(program, nil); got != want {
		t.Errorf("%q; expected %s", got, want)
	}
	for version, taken := range map[string]bool{"1.20.1": false, "1.28.0": false, "1.29.0": true, "2.0.0": false} {
		name := filepath.Join(capi, "libonnxruntime.so."+version)
		if err := os.Rename(want, name); err != nil {
			t.Fatal(err)
		}
		if got := libraryOfPackage(program, nil); (got == name) != taken || !taken && got != "" {
			t.Errorf("version %s: %q", version, got)
		}
		want = name
	}
	t.Setenv(Variable, "/lib/old.so")
	if err := checkVersion("/lib/old.so", "1.20.1"); !strings.Contains(err.Error(), "unset "+Variable) {
		t.Errorf("the variable goes on to win: %v", err)
	}
	for _, other := range []string{filepath.Join(prefix, "certspec"), filepath.Join(prefix, "other", "bin", "certspec")} {
		if got := libraryOfPackage(other, nil); got != "" {
			t.Errorf("%s finds %s", other, got)
		}
	}
	if got := libraryOfPackage(program, errors.New("unknown")); got != "" {
		t.Errorf("%s without a program", got)
	}
}
