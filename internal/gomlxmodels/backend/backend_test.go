package backend

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

func TestParseChoice(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]choice{
		"":                         {},
		"auto":                     {},
		"go":                       {engine: Go},
		"go:parallelism=3":         {engine: Go, options: "parallelism=3"},
		"xla":                      {engine: XLA},
		"xla:cpu":                  {engine: XLA, device: "cpu"},
		"xla:cuda,tf32=false":      {engine: XLA, device: "cuda", options: "tf32=false"},
		"xla:/a/b.so,x=1,y":        {engine: XLA, path: "/a/b.so", options: "x=1,y"},
		"xla:~/b.so":               {engine: XLA, path: filepath.Join(home, "b.so")},
		"xla:,shared_buffers=true": {engine: XLA, options: "shared_buffers=true"},
	} {
		got, err := parseChoice(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; expected %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"tpu", "XLA", "auto:fast", "g", " go"} {
		if c, err := parseChoice(text); err == nil {
			t.Errorf("%q is taken for %+v", text, c)
		}
	}
}

// alone hides the plugins and the environment of this machine.
func alone(t *testing.T) (plugins string) {
	t.Helper()
	if !xlaLinked {
		t.Skip("built without XLA")
	}
	plugins = t.TempDir()
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", plugins)
	t.Setenv(Variable, "")
	t.Setenv(GoMLXVariable, "")
	return plugins
}

// badPlugins writes files that are no plugins for this machine, each with a word of the
// sentence that it must give.
func badPlugins(t *testing.T, dir string) map[string]string {
	t.Helper()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files := map[string]string{
		write("junk.so", []byte(strings.Repeat("junk ", 1000))): "not a shared library",
		write("empty.so", nil):        "empty",
		filepath.Join(dir, "none.so"): "no such file",
		dir:                           "folder",
	}
	if runtime.GOOS == "linux" {
		program := testkit.Read(t, "/proc/self/exe")
		files[write("program.so", program)] = "does not export GetPjrtApi"
		files[write("half.so", program[:len(program)/2])] = "truncated"
		binary.LittleEndian.PutUint16(program[18:], 243) // e_machine: RISC-V
		files[write("foreign.so", program)] = "built for EM_RISCV"
	}
	return files
}

func TestBadPluginsByArgument(t *testing.T) {
	for path, want := range badPlugins(t, alone(t)) {
		_, err := Open("xla:" + path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; expected an error with the path and %q", path, err, want)
		}
	}
}

// A wish of the environment that cannot be met falls back to Go and says why.
func TestBadPluginsByEnvironment(t *testing.T) {
	for path, want := range badPlugins(t, alone(t)) {
		for _, variable := range []string{Variable, GoMLXVariable} {
			t.Setenv(Variable, "")
			t.Setenv(variable, "xla:"+path)
			b, err := Open("")
			if err != nil {
				t.Fatal(err)
			}
			if b.Engine != Go || !strings.Contains(b.Note, want) || !strings.Contains(b.Note, variable) {
				t.Errorf("%s=xla:%s: engine %s, note %q; expected go and %q", variable, path, b.Engine, b.Note, want)
			}
		}
	}
}

// A file with the name of a plugin, where plugins are searched.
func TestBadPluginInSearchedFolder(t *testing.T) {
	folder := alone(t)
	b, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	if b.Engine != Go || !strings.Contains(b.Note, "certspec backend install") {
		t.Errorf("no plugin: engine %s, note %q", b.Engine, b.Note)
	}
	path := testkit.Write(t, []byte("junk"), folder, "pjrt_c_api_cpu_plugin.so")
	if b, err = Open("auto"); err != nil {
		t.Fatal(err)
	}
	if b.Engine != Go || !strings.Contains(b.Note, path) {
		t.Errorf("a junk plugin: engine %s, note %q; expected go and the path", b.Engine, b.Note)
	}
	if _, err := Open("xla"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("xla by argument: %v; expected an error with the path", err)
	}
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Usable || list[0].Path != path || !list[1].Usable || !list[1].Chosen {
		t.Errorf("list %+v; expected the junk as not usable and go as chosen", list)
	}
}

// A plugin of an old version of the C API has no function that go-xla calls: it crashes
// the trial, not this process, and the error names both versions.
func TestPythonOfThePathIsSearched(t *testing.T) {
	root := t.TempDir()
	jax := filepath.Join(root, "lib", "python3.13", "site-packages", "jax_plugins")
	for _, folder := range []string{jax, filepath.Join(root, "bin")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "python3"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "bin"))
	if found := pythonFolders(); !slices.Contains(found, jax) {
		t.Errorf("found %q; expected %s in it", found, jax)
	}
}

func TestOldPlugin(t *testing.T) {
	dir := alone(t)
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler")
	}
	source, path := filepath.Join(dir, "old.c"), filepath.Join(dir, "old.so")
	program := `#include <stddef.h>
static struct { size_t size; void *ext; size_t vsize; void *vext; int major, minor; void *functions[200]; } api = {.major = 0, .minor = 12};
void *GetPjrtApi(void) { return &api; }`
	testkit.Write(t, []byte(program), source)
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, err = Open("xla:" + path)
	if err == nil || !strings.Contains(err.Error(), "0.12") || !strings.Contains(err.Error(), clientAPI) {
		t.Errorf("%v; expected an error that names the versions 0.12 and %s", err, clientAPI)
	}
}

func TestEnvironmentChooses(t *testing.T) {
	alone(t)
	t.Setenv(Variable, "go:parallelism=5")
	t.Setenv(GoMLXVariable, "go:parallelism=7")
	for choice, want := range map[string]string{
		"":                 "parallelism=5",
		"auto":             "parallelism=5",
		"go:parallelism=9": "parallelism=9",
	} {
		b, err := Open(choice)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Backend.Description(); !strings.Contains(got, want) {
			t.Errorf("%q: %s; expected %s", choice, got, want)
		}
		if b.Note != "" {
			t.Errorf("%q: note %q; the choice was met", choice, b.Note)
		}
	}
	t.Setenv(Variable, "onnxruntime")
	if b, err := Open(""); err != nil || !strings.Contains(b.Backend.Description(), "parallelism=7") {
		t.Errorf("%s=onnxruntime: %v, %v; expected that it is passed over", Variable, b, err)
	}
	t.Setenv(Variable, "tpu")
	if _, err := Open(""); err == nil || !strings.Contains(err.Error(), Variable) {
		t.Errorf("%s=tpu: %v; expected an error that names the variable", Variable, err)
	}
}

func TestGoOptions(t *testing.T) {
	for _, options := range []string{"parallelism=x", "parallelism=0", "parallelism=", "turbo"} {
		if _, err := Open("go:" + options); err == nil || !strings.Contains(err.Error(), options) {
			t.Errorf("go:%s: %v; expected an error with the option", options, err)
		}
	}
	b, err := OpenForTraining(Go)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Backend.Description(); !strings.Contains(got, "parallelism=64") {
		t.Errorf("for training: %s; expected parallelism=64", got)
	}
}

func TestOpenedOnce(t *testing.T) {
	var wait sync.WaitGroup
	backends := make([]*Backend, 8)
	errs := make([]error, len(backends))
	for i := range backends {
		wait.Go(func() { backends[i], errs[i] = Open(Go) })
	}
	wait.Wait()
	for i, b := range backends {
		if errs[i] != nil || b.Backend != backends[0].Backend {
			t.Errorf("caller %d got another backend (%v)", i, errs[i])
		}
	}
}

// needXLA opens an XLA plugin of this machine, or skips.
func needXLA(t *testing.T) *Backend {
	t.Helper()
	b, err := Open(XLA)
	if err != nil {
		t.Skipf("needs an XLA plugin: %v", err)
	}
	return b
}

func TestCheck(t *testing.T) {
	for _, engine := range []string{Go, XLA} {
		t.Run(engine, func(t *testing.T) {
			if engine == XLA {
				needXLA(t)
			}
			b, err := Open(engine)
			if err != nil {
				t.Fatal(err)
			}
			found, err := Check(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 3 {
				t.Errorf("%d programs; expected 3", len(found))
			}
			if b.Threads < 1 || b.Version == "" || !strings.HasPrefix(b.InstructionSet, runtime.GOARCH) {
				t.Errorf("identity %+v", b)
			}
		})
	}
}

func TestRelativeDifference(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		got, want []float32
		expected  float64
	}{
		{[]float32{1, 2, -4}, []float32{1, 2, -4}, 0},
		{[]float32{1, 3, -4}, []float32{1, 2, -4}, .25},
		{[]float32{1}, []float32{1, 2}, math.Inf(1)},
		{[]float32{nan, 1}, []float32{1, 2}, math.NaN()},
	} {
		got := relativeDifference(c.got, c.want)
		if got != c.expected && !(math.IsNaN(got) && math.IsNaN(c.expected)) {
			t.Errorf("%v against %v: %g; expected %g", c.got, c.want, got, c.expected)
		}
	}
}

// What a trial found is kept for as long as the file does not change.
func TestTrialIsRemembered(t *testing.T) {
	path := needXLA(t).Path
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	first, err := checkPlugin(path)
	if err != nil {
		t.Fatal(err)
	}
	if first.Major != 0 || first.Minor == 0 || first.Platform == "" || !strings.HasPrefix(first.Digest, "sha256:") {
		t.Errorf("found %+v", first)
	}
	record, err := recordPath(path, "")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) {
		t.Helper()
		text := testkit.Read(t, record)
		if !strings.Contains(string(text), old) {
			t.Fatalf("the record %s does not hold %q", text, old)
		}
		testkit.Write(t, []byte(strings.Replace(string(text), old, new, 1)), record)
	}
	edit(first.Digest, "sha256:remembered")
	if again, err := checkPlugin(path); err != nil || again.Digest != "sha256:remembered" {
		t.Errorf("second check: %+v, %v; expected the record", again, err)
	}
	edit(`"size":`, `"size":1`) // the file has another size than the record says
	if again, err := checkPlugin(path); err != nil || again.Digest != first.Digest {
		t.Errorf("check after a change: %+v, %v; expected a new trial", again, err)
	}
}

// Flags that a plugin does not take end a child, not this process: XLA is passed over, and the sentence names them. A
// trial with flags is remembered by itself.
func TestFlagsOfAnotherVersion(t *testing.T) {
	path := needXLA(t).Path
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	t.Setenv(Variable, "")
	t.Setenv(GoMLXVariable, "")
	for flags, want := range map[string]string{
		"--xla_gpu_graph_level=0":                          "XLA_FLAGS has --xla_gpu_graph_level=0, with which the plugin",
		"--xla_cpu_enable_fast_math=false --xla_nonsense":  "XLA_FLAGS has --xla_nonsense, with which the plugin",
		"--xla_force_host_platform_device_count=notnumber": "XLA_FLAGS has --xla_force_host_platform_device_count=notnumber, with which",
		filepath.Join(t.TempDir(), "none"):                 "none, with which the plugin",
	} {
		t.Setenv(flagsVariable, flags)
		if _, err := checkPlugin(path); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "XLA passed over: ") {
			t.Errorf("%s: %v; expected %q", flags, err, want)
		}
	}
	t.Setenv(flagsVariable, "--xla_cpu_enable_fast_math=false")
	known, err := checkPlugin(path)
	if err != nil {
		t.Fatal(err)
	}
	for flags, remembered := range map[string]bool{known.Flags: true, "": false} {
		record, err := recordPath(path, flags)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(record); (err == nil) != remembered {
			t.Errorf("%q: remembered is %v", flags, err)
		}
	}
}

// ensure replaces a plugin that does not work, once.
func TestEnsureReplacesBrokenPlugin(t *testing.T) {
	folder := filepath.Join(alone(t), "xla-cpu-test")
	plugin := filepath.Join(folder, "pjrt_c_api_cpu_plugin.so")
	installs := 0
	_, err := ensure(folder, func(folder string) error {
		installs++
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Error("the broken folder is still there")
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		return os.WriteFile(plugin, []byte("junk"), 0o644)
	})
	if installs != 1 || err == nil || !strings.Contains(err.Error(), plugin) {
		t.Errorf("an installed plugin that is junk: %d installs, %v", installs, err)
	}
	if _, err = ensure(folder, func(string) error { return errors.New("offline") }); err == nil || err.Error() != "offline" {
		t.Errorf("%v; expected a new installation of the junk, which fails", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the junk is kept")
	}
}

// The versions for programs without module versions equal go.mod's.
func TestRequiredVersions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Skip(err)
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // module, version, perhaps a comment
		if len(fields) < 2 || requiredVersions[fields[0]] == "" {
			continue
		}
		found++
		if fields[1] != requiredVersions[fields[0]] {
			t.Errorf("%s is %s in go.mod, %s here", fields[0], fields[1], requiredVersions[fields[0]])
		}
	}
	if found != len(requiredVersions) {
		t.Errorf("go.mod has %d of %d modules", found, len(requiredVersions))
	}
}
