package recipe

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
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

func atTier(t *testing.T, l *Library, name string) *Setup {
	t.Helper()
	tier, err := l.Tier(name)
	if err != nil {
		t.Fatal(err)
	}
	return &Setup{Library: l, Tier: tier}
}

var armsOfCalibration = []string{"brier-act", "acce-act", "exact-start", "exact-act", "push-act", "smoothadv"}

// Calibration training starts from the seven baselines of Emde et al. 2025, table 4, on every data set, and all arms from one take equal
// rows, steps and models.
func TestArmsOfCalibrationTraining(t *testing.T) {
	l := opened(t)
	baselines := [][4]float64{{2, 4, .12, .25}, {2, 4, .25, .5}, {10, 2, .5, .5}, {10, 8, .25, 1}, {10, 2, .5, 2}, {10, 2, 1, 2}, {10, 4, .5, 1}}
	for _, name := range []string{"cpu", "T3"} {
		s := atTier(t, l, name)
		for _, data := range []string{"c10", "fmnist", "svhn", "c100"} {
			for _, b := range baselines {
				start := fmt.Sprintf("t%g-m%g-s%03.0f-e%03.0f", b[0], b[1], 100*b[2], 100*b[3])
				at, err := s.Model("D/"+data+"/at-"+start, 0, 1)
				if err != nil {
					t.Fatal(err)
				}
				if name == "T3" && (at.Options["steps"] != b[0] || at.Options["noises"] != b[1] || at.Noise() != b[2] || at.Options["epsilon"] != b[3] || float64(at.BatchSize)*b[1] != 256) {
					t.Errorf("%+v", at)
				}
				var first []Model
				for _, arm := range armsOfCalibration {
					models, err := s.Models("D/" + data + "/arms/" + start + "/" + arm)
					if err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first = models
					}
					for i, m := range models {
						f := first[min(i, len(first)-1)]
						if m.Method != arm || m.Start != at.Name || m.Noise() != b[2] || m.Options["epsilon"] != b[3] || len(models) != len(first) ||
							m.BatchSize != f.BatchSize || m.Epochs != f.Epochs || m.LearningRate != f.LearningRate ||
							m.Options["noises"] != f.Options["noises"] || m.Options["steps"] != f.Options["steps"] || m.Options["warm_up"] != f.Options["warm_up"] {
							t.Errorf("%s at %s: %+v\nbeside %+v", m.Name, name, m, f)
						}
						if name == "T3" && (len(models) != 16 || float64(m.BatchSize)*m.Options["noises"].(float64) != 2048) {
							t.Errorf("%s: %d models, batches of %d under %v noises", m.Name, len(models), m.BatchSize, m.Options["noises"])
						}
					}
				}
			}
		}
	}
}

// In tables 7 to 9 every arm takes as many rows, steps and models, at every tier, and a constant push and adversarial training that goes on as long are
// among them.
func TestArmsOfTheTablesAreAlike(t *testing.T) {
	l := opened(t)
	for _, name := range l.Names(Tiers) {
		s := atTier(t, l, name)
		s.Places = map[string]string{"fashionmnist-start": "../../../notebooks/models/fmnist-cnn-s025"}
		for _, table := range []string{"D/table7", "D/table8", "D/table9"} {
			made, err := l.Table(table)
			if err != nil {
				t.Fatal(err)
			}
			arms := map[string]string{}
			for _, row := range made.Rows {
				models, err := s.Models(row.Recipe)
				if err != nil {
					t.Fatal(err)
				}
				if models[0].Start == "" {
					continue
				}
				rows, err := s.Rows(models[0])
				if err != nil {
					t.Fatal(err)
				}
				m := models[0]
				arms[m.Method] = fmt.Sprintf("%d models from %s, %d images of %d rows in a step, %d epochs", len(models), m.Start, m.BatchSize, rows, m.Epochs)
			}
			want := arms["acce-act"]
			for _, method := range armsOfCalibration {
				if arms[method] != want || want == "" {
					t.Errorf("%s at %s: %s has %q, acce-act %q", table, name, method, arms[method], want)
				}
			}
		}
	}
}

// Tables 2 and 6 fine-tune all seven baselines as the paper does: a step has 256 rows whatever the number of noises, and 2048 where the error is that
// of the batch. The adversary of ACCE has the settings that its tests hold.
func TestFineTuningOfThePaper(t *testing.T) {
	l := opened(t)
	s := atTier(t, l, "T3")
	for table, acts := range map[string]map[string]float64{
		"D/table2": {"brier-act": 256, "acce-act": 2048, "exact-start": 2048, "exact-act": 2048},
		"D/table4": {},
		"D/table6": {"brier-act": 256, "acce-act": 2048, "exact-start": 2048, "exact-act": 2048, "at-ft": 256},
	} {
		made, err := l.Table(table)
		if err != nil {
			t.Fatal(err)
		}
		starts, baselines := map[string]int{}, 0
		for _, row := range made.Rows {
			act := strings.Split(row.Recipe, "/")[2]
			rows, fine := acts[act]
			if !fine {
				baselines++
				continue
			}
			m, err := s.Model(row.Recipe, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			starts[m.Start]++
			if float64(m.BatchSize)*m.Options["noises"].(float64) != rows || m.Epochs != 10 {
				t.Errorf("%s: %d images under %v noises, %d epochs", m.Name, m.BatchSize, m.Options["noises"], m.Epochs)
			}
			step := map[string]any{"acce-act": .01, "exact-start": .1}[act]
			if _, there := m.Options["revision"]; there || step != nil && (m.Options["step_a"] != step ||
				m.Options["rho"] != .01) || strings.HasPrefix(act, "exact") && m.Method != act {
				t.Errorf("%s: %s %v", m.Name, m.Method, m.Options)
			}
		}
		if baselines != 22 || len(acts) > 0 && len(starts) != 7 {
			t.Errorf("%s: %d baselines, fine-tuned %v", table, baselines, starts)
		}
		for start, n := range starts {
			if n != len(acts) {
				t.Errorf("%s: %s is fine-tuned in %d ways, want %d", table, start, n, len(acts))
			}
		}
	}
}

// The numbers of the tiers and recipes are from fouriermix-certified-ood §2.1, 2.3 to 2.8, 9.1 and 12, and of
// certified-calibration §9.1, 9.4 and table 4.
func TestNumbersOfTheSpecs(t *testing.T) {
	l := opened(t)
	model := func(tier, recipe string, point int) Model {
		t.Helper()
		of, err := l.Tier(tier)
		if err != nil {
			t.Fatal(err)
		}
		m, err := (&Setup{Library: l, Tier: of}).Model(recipe, point, 1)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	hcr := model("T3", "A/c10/fm-hcr", 0)
	if hcr.Network != "resnet110" || hcr.Epochs != 200 || hcr.BatchSize != 256 || !slices.Equal(hcr.Milestones, []int{100, 150}) || hcr.LearningRate != .1 || hcr.WarmUp != 0 || hcr.Noise() != .25 ||
		hcr.Views != "fouriermix" || hcr.Options["lambda"] != 40. || hcr.Options["eta"] != 10. || hcr.Options["views"] != 3. || hcr.Options["noises"] != 2. {
		t.Errorf("%+v", hcr)
	}
	for tier, want := range map[string][]int{"T1": {40, 20, 30}, "T2": {100, 50, 75}} {
		if m := model(tier, "A/c10/fm-hcr", 0); !slices.Equal(append([]int{m.Epochs}, m.Milestones...), want) || m.Network != "resnet20" {
			t.Errorf("%s: %d epochs, milestones %v, %s", tier, m.Epochs, m.Milestones, m.Network)
		}
	}
	if m := model("T3", "A/c100/fm-hcr", 0); m.Options["lambda"] != 20. || m.Options["eta"] != 10. || m.Data != "cifar100" {
		t.Errorf("%+v", m)
	}
	if m := model("T3", "A/imagenet/fm-hcr", 0); m.Options["lambda"] != 5. || m.Options["eta"] != 5. || m.Noise() != .5 || m.Epochs != 90 || m.Network != "resnet50" || !slices.Equal(m.Milestones, []int{30, 60}) {
		t.Errorf("%+v", m)
	}
	if m := model("T0", "D/imagenet/at", 0); m.Train != "synthetic/train[count=96]" || m.Test != "synthetic/test" { // which has no "val"
		t.Errorf("%+v", m)
	}
	if m := model("cpu", "B/mnist-8k/plain", 0); m.Train != "mnist/test[range=0:8000]" || m.Test != "mnist/test[range=8000:10000]" {
		t.Errorf("%+v", m)
	}
	if m := model("T3", "A/imagenet/fm-jsd", 0); m.Views != "fouriermix(phase=imagenet)" {
		t.Errorf("%+v", m)
	}
	// A tier's schedule takes the place of the recipe's, milestones and all.
	for _, recipe := range []string{"A/c10/fm-hcr", "D/c10/at-t10-m8-s025-e100"} {
		if m := model("evidence", recipe, 0); m.Schedule != "cosine" || m.Milestones != nil || m.LearningRate != .02 || m.Network != "resnet20" {
			t.Errorf("%+v", m)
		}
	}
	if m := model("T3", "A/c10/fm-jsd", 0); m.Options["share"] != "half_exact" || m.Options["weight"] != 12. || m.Views != "fouriermix" {
		t.Errorf("%+v", m)
	}
	if m := model("T3", "A/c10/g", 0); m.Options["share"] != "all" || m.WarmUp != 1 || m.Views != "" {
		t.Errorf("%+v", m)
	}
	if m := model("T1", "A/c10/smoothadv", 0); m.Options["warm_up"] != 2. || m.Options["epsilon"] != 255./256 || m.Options["noises"] != 8. || m.Options["steps"] != 2. || m.BatchSize != 32 {
		t.Errorf("%+v", m)
	}
	if m := model("T3", "A/c10/macer", 0); m.Options["lambda"] != 12. || m.Options["beta"] != 16. || m.Options["gamma"] != 8. || m.BatchSize != 64 || m.LearningRate != .01 {
		t.Errorf("%+v", m)
	}
	// Jeong et al. 2021 and 2023, the settings of their public code for CIFAR-10 at σ = 0.25.
	for recipe, want := range map[string]map[string]any{
		"X/c10/cat-rs":    {"noises": 4., "epsilon": 1., "steps": 4., "lambda": 0.5},
		"X/c10/smoothmix": {"noises": 2., "steps": 4., "alpha": 0.5, "eta": 5., "warm_up": 10.},
	} {
		m := model("T3", recipe, 0)
		if m.Epochs != 150 || !slices.Equal(m.Milestones, []int{50, 100}) || m.LearningRate != .1 || float64(m.BatchSize)*want["noises"].(float64) != 256 || m.Noise() != .25 || m.Network != "resnet110" || !maps.Equal(m.Options, want) {
			t.Errorf("%+v", m)
		}
	}
	// A rate that the network of the tier does not bear is lowered, a smaller one is not.
	if g, macer := model("cpu", "A/c10/g", 0), model("cpu", "A/c10/macer", 0); g.Network != "small-cnn" || g.LearningRate != .02 || macer.LearningRate != .01 {
		t.Errorf("%+v, %+v", g, macer)
	}
	for _, bad := range []float64{-1, math.NaN()} {
		broken := &Setup{Library: l, Tier: Tier{Name: "mine", Data: map[string]DataPart{"cifar10": {Rate: bad}}}}
		if _, err := broken.Model("A/c10/g", 0, 1); err == nil || !strings.Contains(err.Error(), "tier mine: data cifar10: rate") {
			t.Errorf("rate %v: %v", bad, err)
		}
	}
	at := model("T3", "D/c10/at-t10-m8-s012-e025", 0)
	if at.Options["steps"] != 10. || at.Options["noises"] != 8. || at.Noise() != .12 || at.Options["epsilon"] != .25 || at.Epochs != 150 || at.Input != "standardize" || !slices.Equal(at.Milestones, []int{50, 100}) {
		t.Errorf("%+v", at)
	}
	// Fine-tuning keeps noise, number of noises and budget of what it begins with.
	act := model("T3", "D/c10/acce-act/t10-m2-s050-e050", 16)
	if act.Start != "D/c10/at-t10-m2-s050-e050@1" || act.Noise() != .5 || act.Options["noises"] != 2. || act.Options["epsilon"] != .5 || act.Epochs != 10 || !slices.Equal(act.Milestones, []int{4, 8}) || act.Input != "standardize" {
		t.Errorf("%+v", act)
	}
	for recipe, want := range map[string]int{"D/c10/brier-act/t2-m4-s012-e025": 16, "D/c10/acce-act/t2-m4-s012-e025": 16, "D/imagenet/acce-act": 6, "D/imagenet/acce-act-star": 6, "D/imagenet/exact-start": 6} {
		r, err := l.Recipe(recipe)
		if err != nil {
			t.Fatal(err)
		}
		points := (&Setup{Library: l}).grid(r)
		seen := map[string]bool{}
		for _, p := range points {
			seen[fmt.Sprint(p)] = true
		}
		if len(seen) != want {
			t.Errorf("%s has %d models, want %d", recipe, len(seen), want)
		}
	}
	t1, _ := l.Tier("T1")
	count := map[string]int{}
	for _, word := range []string{"C", "C-bar", "F"} {
		cells, err := t1.Cells(Radius{Sweeps: []string{word}})
		if err != nil {
			t.Fatal(err)
		}
		count[word] = len(cells) - 1 // without the clean one
	}
	if count["C"] != 15*3 || count["C-bar"] != 10*3 || count["F"] != 8*2 {
		t.Errorf("cells of T1: %v", count)
	}
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

// The table of arms on FashionMNIST has three baselines, one of each noise, with all arms of each.
func TestArmsOfFashionMNIST(t *testing.T) {
	l := opened(t)
	table, err := l.Table("D/arms/fmnist")
	if err != nil {
		t.Fatal(err)
	}
	arms := map[float64]int{}
	s := atTier(t, l, "scratch")
	for _, row := range table.Rows {
		models, err := s.Models(row.Recipe)
		if err != nil {
			t.Fatal(err)
		}
		if m := models[0]; strings.Contains(row.Recipe, "/arms/") {
			arms[m.Noise()]++
			if len(models) != 2 || m.Epochs != 10 { // two rates
				t.Errorf("%s: %d models, %d epochs", row.Recipe, len(models), m.Epochs)
			}
		} else if m.Epochs != 30 {
			t.Errorf("%s: %d epochs", row.Recipe, m.Epochs)
		}
	}
	if n := len(armsOfCalibration); len(table.Rows) != 3*(1+n) || arms[.25] != n || arms[.5] != n || arms[1] != n {
		t.Errorf("%d rows, arms by σ %v", len(table.Rows), arms)
	}
}

// In every copy of a data set the images of a tier are of all its classes. In some, every 20th of FashionMNIST is of five.
func TestTiersTakeAllClasses(t *testing.T) {
	if os.Getenv("CERTSPEC_DATA") == "" {
		t.Skip("CERTSPEC_DATA is not set: no FashionMNIST and no JPEG copy of CIFAR-10")
	}
	l := opened(t)
	for _, name := range l.Names(Tiers) {
		s := atTier(t, l, name)
		s.Places = map[string]string{"cifar10": "cifar10-jpeg"}
		for _, kind := range []string{"fashionmnist", "cifar10"} {
			_, test, err := s.Sets(kind)
			if err != nil {
				t.Fatal(err)
			}
			for _, selection := range []string{s.Tier.CleanImages(kind), s.Tier.ConfidenceImages(kind)} {
				d, err := dataset.Open(tier.Select(test, selection))
				if err != nil {
					t.Fatal(err)
				}
				if images, err := d.List(t.Context()); err != nil || len(images.Warnings) > 0 && images.Len() >= 10 {
					t.Errorf("tier %s: %v, %v", name, images.Warnings, err)
				}
			}
		}
	}
}

// What Show prints can be read again.
func TestShow(t *testing.T) {
	l := opened(t)
	text, err := l.Show("A/c10/fm-hcr")
	if err != nil {
		t.Fatal(err)
	}
	file := testkit.Write(t, []byte(strings.ReplaceAll(text, Spelled("A/c10/fm-hcr"), "x/fm-hcr")),
		t.TempDir(), "shown.yaml")
	if _, err := l.Add(file); err != nil {
		t.Fatal(err)
	}
	s := &Setup{Library: l}
	a, err1 := s.Model("A/c10/fm-hcr", 0, 1)
	b, err2 := s.Model("x/fm-hcr", 0, 1)
	b.Name = a.Name
	if err1 != nil || err2 != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%v %v\n%+v\n%+v", err1, err2, a, b)
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

// Recipes of SVHN read the official files, and those of ImageNet learn from random resized crops.
func TestSetsOfRecipes(t *testing.T) {
	l := opened(t)
	s := atTier(t, l, "T3")
	for _, recipe := range l.Names(Recipes) {
		models, err := s.Models(recipe)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range models {
			switch resized := strings.HasPrefix(string(m.Augment), "random-resized-crop-flip"); {
			case m.Data == "svhn" && (m.Train != "svhn/train" || m.Test != "svhn/test"):
				t.Errorf("%s learns from %s", m.Name, m.Train)
			case resized != (m.Data == tier.ImageNet) && m.Adapt == nil:
				t.Errorf("%s: %s on %s", m.Name, m.Augment, m.Data)
			}
		}
	}
	if !slices.ContainsFunc(dataset.Sets(), func(s dataset.Set) bool { return s.Name == "svhn" }) {
		t.Error("there is no set svhn")
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
