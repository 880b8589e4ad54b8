// Package layers holds the tests of the layout: which package may import which, and what is
// linked into whom. ARCHITECTURE.md draws the same picture for people.
package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

const module = "github.com/certspec/certspec"

// all are the packages of every module of go.work: a pattern ends where a module does.
var all = []string{"./...", "./bench/...", "./cmd/certcheck/...", "./examples/...", "./notebooks/..."}

func TestAllModulesAreListed(t *testing.T) {
	text := testkit.Read(t, "../../go.work")
	used := regexp.MustCompile(`(?m)^\t(\S+)$`).FindAllStringSubmatch(string(text), -1)
	if len(used) != len(all) {
		t.Errorf("go.work uses %q, tests visit %q", used, all)
	}
	makefile := testkit.Read(t, "../../Makefile")
	for _, m := range used {
		if !slices.Contains(all, m[1]+"/...") || !bytes.Contains(makefile, []byte(" "+m[1]+"/...")) {
			t.Errorf("go.work uses %s, which tests or make leave out", m[1])
		}
	}
}

type pkg struct {
	ImportPath   string
	Imports      []string
	Deps         []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
	CgoFiles     []string
	SFiles       []string
	ImportMap    map[string]string
	Dir, Export  string
	Standard     bool
	Module       *struct{ Path string }
}

// list runs "go list -json" in the repository's root.
func list(t *testing.T, env []string, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,TestImports,XTestImports,GoFiles,CgoFiles,SFiles,ImportMap,Dir,Export,Standard,Module"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list: no packages")
	}
	return pkgs
}

// layers are the packages from the bottom up. A package may import what stands in a lower layer or,
// of its own group, beside it. A group is a name of this table with its subfolders that are not in
// the table themselves. internal/NAME is in the group of NAME; the other packages of internal are in
// no layer.
var layers = [][]string{
	{"pixel", "progress", "resample", "rs/bound", "table", "spectral/fourier", "cmd/certcheck"},
	{"augment", "calib", "classifier", "dataset", "feedforward", "lines", "rs/noise"},
	{"rs/ledger", "corrupt"},
	{"rs/rule"},
	{"rs/ledger/ledgerio"},
	{"ood", "rs", "spectral"},
	{"study"},
	{"evaluate", "gomlxmodels", "lines/certified", "engine/onnx", "engine/pipe", "preflight", "rs/heatmap", "ood/smoothed"},
	{"engine"},
	{"study/measure"},
	{"experiment/recipe"},
	{"experiment/settings"},
	{"experiment/store"},
	{"experiment/results"},
	{"experiment/plan"},
	{"experiment/run"},
	{"experiment", "model"},
	{"nb", "bench", "cmd/certspec", "examples"},
	{"notebooks"},
	{"docs", "tools"},
}

// group finds the layer and group of a package of the module.
func group(path string) (name string, layer int) {
	path = strings.TrimPrefix(strings.TrimPrefix(path, module+"/"), "internal/")
	for i, groups := range layers {
		for _, r := range groups {
			if (path == r || strings.HasPrefix(path, r+"/")) && len(r) > len(name) {
				name, layer = r, i
			}
		}
	}
	return name, layer
}

func TestArrowsPointDown(t *testing.T) {
	for _, p := range list(t, nil, all...) {
		name, layer := group(p.ImportPath)
		if p.ImportPath == module || name == "" && within(p.ImportPath, "internal") {
			continue
		}
		if name == "" {
			t.Errorf("%s is in no layer: add it to layers and to ARCHITECTURE.md", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			if other, _ := group(i); !strings.HasPrefix(i, module+"/") || other == "" && within(i, "internal") {
				continue
			}
			if other, below := group(i); other != name && below >= layer {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, i)
			}
		}
	}
}

// ARCHITECTURE.md has a layer between two arrows of its picture, from the top down, and names every package.
func TestPicture(t *testing.T) {
	text := testkit.Read(t, "../../ARCHITECTURE.md")
	picture := strings.Split(strings.Split(string(text), "```")[1], "▼")
	drawn := layers[:len(layers)-1] // all but docs and tools, which are in words
	if len(picture) != len(drawn) {
		t.Fatalf("%d layers in the picture; expected %d", len(picture), len(drawn))
	}
	for i, groups := range drawn {
		words := strings.Fields(picture[len(picture)-1-i])
		for _, name := range groups {
			if name != "cmd/certcheck" && !slices.Contains(words, name) {
				t.Errorf("layer %d of the picture, from below, lacks %s", i, name)
			}
		}
	}
	for _, p := range list(t, nil, "./...") {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.Contains(path, "internal/") || strings.HasPrefix(path, "cmd/") {
			continue
		}
		if !regexp.MustCompile("`" + `([a-z/]*/)?` + regexp.QuoteMeta(path[strings.LastIndex(path, "/")+1:]) + "`").Match(text) {
			t.Errorf("the table does not name %s", path)
		}
	}
}

// ARCHITECTURE.md says of every folder of internal why it is there, and names none that is not.
func TestInternalHasReasons(t *testing.T) {
	_, rows, _ := strings.Cut(string(testkit.Read(t, "../../ARCHITECTURE.md")), "| `internal/…` | why |")
	rows, _, _ = strings.Cut(rows, "\n\n")
	var named, there []string
	for row := range strings.Lines(rows) {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, found := range regexp.MustCompile("`([a-z0-9]+)`").FindAllStringSubmatch(first, -1) {
			named = append(named, found[1])
		}
	}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		there = append(there, e.Name())
	}
	if slices.Sort(named); !slices.Equal(named, there) {
		t.Errorf("ARCHITECTURE.md gives reasons for %q; internal has %q", named, there)
	}
}

// What is in internal for everybody imports the lowest layer only. What tests alone import may import anything.
func TestInternalImportsTheLowestLayerOnly(t *testing.T) {
	for _, p := range list(t, nil, all...) {
		for _, i := range p.Imports {
			if within(i, "internal/testkit") && !within(p.ImportPath, "internal/testkit") && !within(p.ImportPath, "bench") {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, i)
			}
		}
		if name, _ := group(p.ImportPath); name != "" || !within(p.ImportPath, "internal") ||
			within(p.ImportPath, "internal/testkit") {
			continue
		}
		for _, i := range p.Imports {
			if !strings.HasPrefix(i, module+"/") {
				continue
			}
			if _, layer := group(i); layer > 0 {
				t.Errorf("%s imports %s; internal packages may import the lowest layer only", p.ImportPath, i)
			}
		}
	}
}

// within reports whether a package stands in a folder of the module.
func within(path, folder string) bool {
	return path == module+"/"+folder || strings.HasPrefix(path, module+"/"+folder+"/")
}

func TestOnlyGomlxmodelsImportsGoMLX(t *testing.T) {
	const owner = "gomlxmodels"
	found := false
	for _, p := range list(t, nil, all...) {
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if !strings.HasPrefix(i, "github.com/gomlx/") {
				continue
			}
			found = true
			if !within(p.ImportPath, owner) && !within(p.ImportPath, "internal/"+owner) {
				t.Errorf("%s imports %s; only %s may", p.ImportPath, i, owner)
			}
		}
	}
	if !found {
		t.Error("nobody imports GoMLX: this test looks for the wrong name")
	}
}

// A card names an architecture and a recipe: whoever reads one, as a cell does, links no GoMLX, XLA or ONNX Runtime for it.
func TestCardsNeedNoEngine(t *testing.T) {
	for _, p := range list(t, []string{"CGO_ENABLED=1"}, "./gomlxmodels/modelfile", "./gomlxmodels/nets", "./gomlxmodels/schedule") {
		for _, d := range p.Deps {
			if isEngine(d) {
				t.Errorf("%s depends on %s", p.ImportPath, d)
			}
		}
	}
}

// A cell links no engine, whichever packages of the kernel's prelude it names, and none of a notebook does: a process of
// the kernel has networks.
func TestCellsLinkNoEngine(t *testing.T) {
	text, err := os.ReadFile("../jupyter/kernel.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^var prelude = \[\]string\{(.*)\}$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("no prelude in internal/jupyter/kernel.go")
	}
	args := []string{"-tags=cell"}
	for name := range strings.SplitSeq(string(found[1]), ", ") {
		args = append(args, "./"+strings.Trim(name, `"`))
	}
	notebooks, err := filepath.Glob("../../notebooks/*.ipynb")
	if err != nil || len(notebooks) < 9 {
		t.Fatalf("%d notebooks, %v", len(notebooks), err)
	}
	for _, file := range notebooks {
		for _, m := range regexp.MustCompile(`\\"github.com/certspec/certspec/([a-z0-9/]+)\\"\\n`).FindAllSubmatch(testkit.Read(t, file), -1) {
			args = append(args, "./"+string(m[1]))
		}
	}
	if len(args) < 30 {
		t.Errorf("%d packages of cells: %q", len(args), args)
	}
	for _, p := range list(t, []string{"CGO_ENABLED=1"}, args...) {
		for _, d := range p.Deps {
			if isEngine(d) {
				t.Errorf("%s depends on %s in a cell", p.ImportPath, d)
			}
		}
	}
}

// isEngine tells whether a package belongs to GoMLX, XLA or ONNX Runtime, or is ours over one of them.
func isEngine(path string) bool {
	return strings.HasPrefix(path, "github.com/gomlx/") || strings.HasPrefix(path, "github.com/yalue/onnxruntime_go") ||
		within(path, "internal/gomlxmodels/backend") || within(path, "engine/onnx")
}

// light are the packages that a notebook or a service imports without XLA, GoMLX, cgo or the notebook's tools.
var light = []string{"./pixel/...", "./progress/...", "./calib/...", "./classifier/...", "./dataset/...", "./rs/...", "./spectral/...", "./augment/...", "./corrupt/...", "./engine/pipe/...", "./feedforward/...", "./lines/...", "./ood/...", "./internal/evaluate/...", "./resample/...", "./study", "./nb"}

// "make quick" tests them all.
func TestQuickTestsLightPackages(t *testing.T) {
	makefile := testkit.Read(t, "../../Makefile")
	listed := strings.Fields(string(regexp.MustCompile(`(?m)^LIGHT = (.*\\\n)*.*`).Find(makefile)))
	for _, pattern := range light {
		if !slices.Contains(listed, pattern) {
			t.Errorf("LIGHT in the Makefile has no %s", pattern)
		}
	}
}

// The checker shares no code with what it checks: it builds alone, from the standard library.
func TestCertcheckStandsAlone(t *testing.T) {
	text := testkit.Read(t, "../../cmd/certcheck/go.mod")
	if regexp.MustCompile(`(?m)^(require|replace|tool)\b`).Match(text) {
		t.Errorf("certcheck's module needs others:\n%s", text)
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	cmd.Dir, cmd.Env = "../../cmd/certcheck", append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != module+"/cmd/certcheck" {
		t.Errorf("%v: certcheck is made of\n%s\nexpected the standard library beside it", err, got)
	}
}

func TestStatisticsStayLight(t *testing.T) {
	for _, p := range list(t, []string{"CGO_ENABLED=1"}, light...) {
		for _, d := range p.Deps {
			if strings.HasPrefix(d, "github.com/gomlx/") || within(d, "gomlxmodels") || within(d, "internal/gomlxmodels") {
				t.Errorf("%s depends on %s", p.ImportPath, d)
			}
			if within(d, "nb") && !within(p.ImportPath, "nb") {
				t.Errorf("%s depends on %s", p.ImportPath, d)
			}
		}
	}
}

func TestStatisticsNeedNoCgo(t *testing.T) {
	for _, p := range list(t, []string{"CGO_ENABLED=1"}, append([]string{"-deps"}, light...)...) {
		// The standard library has a form without cgo of each of its packages.
		if !p.Standard && len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo (%s), and a light package depends on it", p.ImportPath, strings.Join(p.CgoFiles, ", "))
		}
	}
}

func TestNoticesNameEveryModule(t *testing.T) {
	notices := testkit.Read(t, "../../THIRD_PARTY_NOTICES.md")
	missing := map[string]bool{}
	for _, p := range list(t, nil, append([]string{"-deps", "-test"}, all...)...) {
		if p.Module != nil && !strings.HasPrefix(p.Module.Path+"/", module+"/") && !bytes.Contains(notices, []byte("| `"+p.Module.Path+"` |")) {
			missing[p.Module.Path] = true
		}
	}
	for path := range missing {
		t.Errorf("THIRD_PARTY_NOTICES.md does not name %s", path)
	}
}

func TestCommandsNameEveryVerb(t *testing.T) {
	page := testkit.Read(t, "../../docs/reference/commands.md")
	entries, err := os.ReadDir("../../cmd/certspec")
	if err != nil {
		t.Fatal(err)
	}
	verbs := 0
	for _, entry := range entries {
		verb := entry.Name()
		if !entry.IsDir() || verb == "internal" {
			continue
		}
		verbs++
		if !regexp.MustCompile("(?m)^\\| \\[`" + verb + "[` ]").Match(page) {
			t.Errorf("docs/reference/commands.md has no row for certspec %s", verb)
		}
	}
	if verbs == 0 {
		t.Error("no folders in cmd/certspec: this test looks in the wrong place")
	}
}

// A derived seed rules out that seeds were tried, not that settings were: nothing may say more.
func TestNoOverstatements(t *testing.T) {
	claims := regexp.MustCompile(`(?i)shopped for|could not be chosen for|leaves no choice|cannot be (picked|tuned|cherry)`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
				return filepath.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".py", ".ipynb":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if found := claims.Find(text); found != nil && filepath.Base(path) != "layers_test.go" {
			t.Errorf("%s says %q", path, found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
