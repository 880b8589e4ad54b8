package recipe

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/internal/testkit"
)

func opened(t *testing.T) *Library {
	t.Helper()
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What is wrong with a file is said with its line.
func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"recipes:\n  x/a:\n    from: A/c10\n    lamda: 3\n": `line 4: unknown key "lamda"; the nearest is "data"`,
		"recipes:\n  x/a:\n    from: A/c10\n    epoch: 3\n": `line 4: unknown key "epoch"; the nearest is "epochs"`,
		"recipe: {}\n":                                                       `line 1: unknown key "recipe"; the nearest is "recipes"`,
		"recipes:\n  x/a: {from: A/c11}\n":                                   `line 2: x/a inherits from "A/c11"`,
		"recipes:\n  A/c10/g: {from: A/c10}\n":                               `line 2: A/c10/g is there already`,
		"recipes:\n  x/a: {from: A/c10}\n  x/a: {from: A/c10}\n":             `line 3: the key "x/a" is there twice`,
		"recipes:\n  x/a#1: {from: A/c10}\n":                                 `line 2: the name "x/a#1"`,
		"recipes:\n  x/a: {from: A/c10, seeds: [2, 1, 2]}\n":                 "the seed 2 twice",
		"recipes:\n  x/a: {from: A/c10, epochs: many}\n":                     "line 2: cannot unmarshal",
		"tables:\n  x: {title: X, rows: [A/c10/g], measure: {sweep: [C]}}\n": `unknown key "sweep"; the nearest is "sweeps"`,
		"tables:\n  x: {title: X, measure: {evalute: {}}}\n":                 `unknown key "evalute"; the nearest is "evaluate"`,
		"tables:\n  x: {title: X, measure: {evaluate: {corupt: [C]}}}\n":     `unknown key "corupt"; the nearest is "corrupt"`,
		"tables:\n  x: {title: X, measure: {heatmap: 3}}\n":                  "expected keys and values",
		"rows:\n- {recipe: A/c10/g, model: net.onnx, title: X}\n":            "a recipe, a model or results, one of them",
		"rows:\n- {model: net.onnx}\n":                                       "has no title",
		"rows:\n- {recipe: A/c10/g, sigma: 0.5}\n":                           "a recipe says them itself",
		"recipes: [A, B]\n":                                                  "line 1: expected keys and values",
		"rows: &a [*a]\n":                                                    "cannot unmarshal",
		"recipes:\n  x/a: {from: A/c10, options: &o {a: *o}}\n":              "contains itself",
		"":                                "it is empty",
		"recipes: {}\n---\nrecipes: {}\n": "second document",
		"recipes:\n\tx: {}\n":             "line 2",
	} {
		l := opened(t)
		file := testkit.Write(t, []byte(text), t.TempDir(), "bad.yaml")
		_, err := l.Add(file)
		var wrong *FileError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// A pattern that matches no recipe is an error: among rows, in a tier's exceptions, in an except of each.
func TestPatternsMatch(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		open func(*Library) error
	}{
		"table": {"tables:\n  x: {title: X, rows: [demo/g, D/fmnist/arms/*], measure: {clean: true}}\n",
			func(l *Library) error { _, err := l.Table("x"); return err }},
		"tier": {"tiers:\n  x: {title: X, except: [B/mnist], certify: {}, clean: skip=2}\n",
			func(l *Library) error { _, err := l.Tier("x"); return err }},
		"each": {"recipes:\n  y/$a:\n    each: {a: [1, 2]}\n    except: x/*\n    from: demo/g\n",
			func(*Library) error { return nil }},
	} {
		file := testkit.Write(t, []byte(c.text), t.TempDir(), "x.yaml")
		l := opened(t)
		_, err := l.Add(file)
		if err == nil {
			err = c.open(l)
		}
		if err == nil || !strings.Contains(err.Error(), "matches no recipe") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte("recipes:\n  x: {from: A/c10, options: {share: all}}\n"))
	f.Add([]byte("rows: [A/c10/g, {model: a.onnx, title: A, onnx: {layout: NHWC}}]\n"))
	f.Add([]byte("tables: {x: {title: X, rows: [&a A/c10/g, *a], measure: {calibration: {radii: [0.1]}}}}\n"))
	builtIn, err := Open() // takes as long as thousands of executions
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &Library{
			data: maps.Clone(builtIn.data), recipes: maps.Clone(builtIn.recipes), tiers: maps.Clone(builtIn.tiers), tables: maps.Clone(builtIn.tables),
			bodies: maps.Clone(builtIn.bodies), files: maps.Clone(builtIn.files), homes: maps.Clone(builtIn.homes), order: maps.Clone(builtIn.order),
		}
		if _, err := l.add("fuzz", text); err != nil {
			var wrong *FileError
			if !errors.As(err, &wrong) {
				t.Errorf("%v is no FileError", err)
			}
		}
	})
}

// The path of a row lies beside the file, in tables as in rows.
func TestPathsOfTables(t *testing.T) {
	dir := t.TempDir()
	file := testkit.Write(t, []byte("tables:\n  mine: {title: mine, rows: [A/c10/g, {title: X, results: r/x.csv}], measure: {clean: true}}\n"),
		dir, "mine.yaml")
	l := opened(t)
	if _, err := l.Add(file); err != nil {
		t.Fatal(err)
	}
	made, err := l.Table("mine")
	if err != nil || made.Rows[1].Results != filepath.Join(dir, "r", "x.csv") {
		t.Errorf("%+v, %v", made.Rows, err)
	}
}

// What is special of CIFAR-10 is not done to CIFAR-100, whatever follows the name of the kind.
func TestKindsOfCIFAR(t *testing.T) {
	for kind, want := range map[string]string{
		"cifar10": "cifar10", "cifar10-copy": "cifar10", "cifar100": "cifar100", "cifar100-coarse": "cifar100",
		"cifar1000": "", "svhn": "",
	} {
		if got := tier.CIFAROf(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// Tables, recipes and tiers go by their short names and by those of the papers.
func TestNamesOfPapers(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range Papers() {
		known[p.Key] = false
	}
	for _, kind := range []string{Tables, Recipes} {
		for _, name := range l.Names(kind) {
			spelled := Spelled(name)
			if StoredName(spelled) != name || StoredName(name) != name {
				t.Errorf("%s is spelled %s, which is stored as %s", name, spelled, StoredName(spelled))
			}
			key, _, _ := strings.Cut(spelled, "/")
			if _, ok := known[key]; ok {
				known[key] = true
			} else if key != "X" && key != "demo" {
				t.Errorf("%s: no paper %s", spelled, key)
			}
			if text, err := l.Show(spelled); err != nil || !strings.Contains(text, spelled) {
				t.Errorf("%s: %v\n%s", spelled, err, text)
			}
		}
	}
	for key, has := range known {
		if !has {
			t.Errorf("%s has no table", key)
		}
	}
	for spelled, tier := range tierNames {
		if a, err := l.Tier(spelled); err != nil || a.Name != tier || SpelledTier(tier) != spelled {
			t.Errorf("tier %s: %v, %v", spelled, a.Name, err)
		}
	}
	if !Matches("sun2021/c10/*", "A/c10/g") || Matches("emde2025/c10/*", "A/c10/g") {
		t.Error("a pattern with the name of a paper matches recipes of another")
	}
	if _, err := l.Table("sun2021/tabel2"); err == nil || !strings.Contains(err.Error(), `nearest is "sun2021/table2"`) {
		t.Error(err)
	}
}
