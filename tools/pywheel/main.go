// Command pywheel builds the wheels of the Python package certspec: the modules of python/certspec
// and, for each platform, the program. "make wheel" runs it.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/progress"
)

// glibc is the oldest C library on which the program with cgo runs.
const glibc = "2.28"

const repository = "https://github.com/certspec/certspec"

// links of a page that lead to another file of the repository.
var links = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// target is a platform with a wheel.
type target struct {
	os, arch string
	tags     string   // of the wheel; "": what auditwheel finds
	build    []string // flags of go build
	env      []string
}

var targets = []target{
	{os: "linux", arch: "amd64", env: []string{"CGO_ENABLED=1", "GOEXPERIMENT=simd"}},
	// Without cgo the program is a static file: it runs with any C library.
	{os: "linux", arch: "arm64", tags: "manylinux_2_17_aarch64.musllinux_1_1_aarch64", build: light, env: without},
	{os: "darwin", arch: "arm64", tags: "macosx_12_0_arm64", build: light, env: without},
}

// What builds on any system for any other.
var (
	light   = []string{"-tags", "noxla"}
	without = []string{"CGO_ENABLED=0", "GOEXPERIMENT="}
)

func (t target) String() string { return t.os + "/" + t.arch }

func main() {
	log.SetFlags(0)
	log.SetPrefix("pywheel: ")
	out := flag.String("out", "dist", "folder for the wheels")
	only := flag.String("only", "", "one platform, such as linux/amd64")
	flag.Parse()
	if err := run(context.Background(), *out, *only); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out, only string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var known []string
	for _, t := range targets {
		known = append(known, t.String())
	}
	if only != "" && !slices.Contains(known, only) {
		return fmt.Errorf("platform %q; expected one of %q", only, known)
	}
	for _, t := range targets {
		if only != "" && only != t.String() {
			continue
		}
		begun := time.Now()
		log.Printf("building for %s: seconds where Go has it in its cache, else 2 to 6 minutes on two cores", t)
		file, err := t.wheel(ctx, out)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		log.Printf("%s took %v", t, time.Since(begun).Round(time.Second))
		fmt.Println(file)
	}
	return nil
}

// wheel builds the program and the wheel around it.
func (t target) wheel(ctx context.Context, out string) (string, error) {
	work, err := os.MkdirTemp("", "pywheel")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	python := ""
	env := append(append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch), t.env...)
	if t.tags == "" {
		if python, err = pyenv.Ensure(ctx, pyenv.Wheel, progress.Messages(log.Printf)); err != nil {
			return "", err
		}
		// Zig's C compiler links against the C library of an older system; the one here may be newer. Its path is
		// not among its words, as Go compiles nearly everything anew for another compiler.
		env = append(env, "PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"),
			"CC=python -m ziglang cc -target x86_64-linux-gnu."+glibc)
	}
	programs := map[string][]byte{}
	for name, more := range map[string][]string{"certspec": env, "certcheck": append(env, "CGO_ENABLED=0")} {
		words := append(append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(work, name)}, t.build...),
			"./cmd/"+name)
		build := exec.CommandContext(ctx, "go", words...)
		build.Env, build.Stdout, build.Stderr = more, os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			return "", err
		}
		if programs[name], err = os.ReadFile(filepath.Join(work, name)); err != nil {
			return "", err
		}
	}
	version, err := versionOf(filepath.Join(work, "certspec"))
	if err != nil {
		return "", err
	}
	tags := t.tags
	if tags == "" { // a first wheel for the question
		asked, err := pack(work, version, "linux_x86_64", programs)
		if err != nil {
			return "", err
		}
		if tags, err = audited(ctx, python, asked); err != nil {
			return "", err
		}
	}
	return pack(out, version, tags, programs)
}

// audited is the platform tag that auditwheel finds for a wheel.
func audited(ctx context.Context, python, wheel string) (string, error) {
	said, err := exec.CommandContext(ctx, python, "-m", "auditwheel", "show", wheel).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("auditwheel: %w\n%s", err, said)
	}
	found := regexp.MustCompile(`(?s)following\s+platform\s+tag:\s+"([a-z0-9_]+)"`).FindSubmatch(said)
	if found == nil {
		return "", fmt.Errorf("auditwheel names no platform tag:\n%s", said)
	}
	return string(found[1]), nil
}

// pack writes a wheel, as packaging.python.org says under "binary distribution format". Equal contents
// give equal bytes.
func pack(dir, version, platform string, programs map[string][]byte) (string, error) {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	var record strings.Builder
	add := func(name string, mode fs.FileMode, data []byte) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(mode)
		w, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		_, err = w.Write(data)
		return err
	}
	modules, err := filepath.Glob("python/certspec/*")
	if err != nil {
		return "", err
	}
	for _, module := range modules {
		if info, err := os.Stat(module); err != nil || info.IsDir() {
			continue
		}
		text, err := os.ReadFile(module)
		if err != nil {
			return "", err
		}
		if err := add("certspec/"+filepath.Base(module), 0o644, text); err != nil {
			return "", err
		}
	}
	page, err := os.ReadFile("docs/python.md")
	if err != nil {
		return "", err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", err
	}
	notices, err := os.ReadFile("THIRD_PARTY_NOTICES.md")
	if err != nil {
		return "", err
	}
	info := "certspec-" + version + ".dist-info"
	metadata := strings.Join([]string{
		"Metadata-Version: 2.4", "Name: certspec", "Version: " + version,
		"Summary: Certificates about image classifiers: randomized smoothing, certified calibration, spectra",
		"License-Expression: Apache-2.0", "License-File: LICENSE", "License-File: THIRD_PARTY_NOTICES.md",
		"Keywords: certified robustness,randomized smoothing,calibration,adversarial attack,image classifier",
		"Project-URL: Source, " + repository, "Project-URL: Changelog, " + repository + "/blob/main/CHANGELOG.md",
		"Project-URL: Reference, " + repository + "/blob/main/docs/reference/python.md",
		"Classifier: Development Status :: 4 - Beta", "Classifier: Intended Audience :: Science/Research",
		"Classifier: Programming Language :: Python :: 3", "Classifier: Programming Language :: Python :: 3 :: Only",
		"Classifier: Programming Language :: Go", "Classifier: Operating System :: POSIX :: Linux",
		"Classifier: Operating System :: MacOS",
		"Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence", "Classifier: Typing :: Typed",
		"Requires-Python: >=3.10", "Requires-Dist: numpy>=1.21",
		"Provides-Extra: onnx", `Requires-Dist: onnxruntime>=1.29; extra == "onnx"`,
		"Provides-Extra: torch", `Requires-Dist: torch>=2.5; extra == "torch"`,
		`Requires-Dist: onnx; extra == "torch"`, `Requires-Dist: onnxscript; extra == "torch"`,
		"Provides-Extra: plot", `Requires-Dist: matplotlib>=3.7; extra == "plot"`,
		"Provides-Extra: live", `Requires-Dist: ipywidgets>=8; extra == "live"`,
		"Description-Content-Type: text/markdown", "",
		links.ReplaceAllString(string(page), "]("+repository+"/blob/main/docs/$1)")}, "\n")
	about := "Wheel-Version: 1.0\nGenerator: certspec pywheel\nRoot-Is-Purelib: false\n"
	for _, tag := range strings.Split(platform, ".") {
		about += "Tag: py3-none-" + tag + "\n"
	}
	for _, f := range []struct {
		name string
		mode fs.FileMode
		data []byte
	}{
		{"certspec-" + version + ".data/scripts/certcheck", 0o755, programs["certcheck"]},
		{"certspec-" + version + ".data/scripts/certspec", 0o755, programs["certspec"]},
		{path.Join(info, "METADATA"), 0o644, []byte(metadata)},
		{path.Join(info, "WHEEL"), 0o644, []byte(about)},
		{path.Join(info, "licenses/LICENSE"), 0o644, license},
		{path.Join(info, "licenses/THIRD_PARTY_NOTICES.md"), 0o644, notices},
	} {
		if err := add(f.name, f.mode, f.data); err != nil {
			return "", err
		}
	}
	record.WriteString(info + "/RECORD,,\n")
	if err := add(info+"/RECORD", 0o644, []byte(record.String())); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	tags := strings.Split(platform, ".")
	slices.Sort(tags)
	file := filepath.Join(dir, "certspec-"+version+"-py3-none-"+strings.Join(tags, ".")+".whl")
	return file, atomicfile.Write(file, archive.Bytes())
}

// versionOf is the version of the Python package, and of the program: a tag of the checkout names both.
func versionOf(program string) (string, error) {
	text, err := os.ReadFile("python/certspec/__init__.py")
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^__version__ = "([^"]+)"$`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("python/certspec/__init__.py names no __version__")
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", err
	}
	version, tag := string(found[1]), info.Main.Version
	released := regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(tag)
	if (released || !strings.Contains(version, ".dev")) && tag != "v"+version {
		return "", fmt.Errorf("the program is of version %s, and python/certspec/__init__.py says %s; expected the "+
			"same, from the checkout of its tag", tag, version)
	}
	return version, nil
}
