package plan

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/sweep"
)

// At a tier with rows all methods take equal rows in a step and in all, and begin with the network that was given.
func TestEqualRowsFromAGivenNetwork(t *testing.T) {
	l := opened(t)
	s := atTier(t, l, "evidence")
	s.Places = map[string]string{"cifar10-start": "../../../notebooks/models/cifar10-resnet20-s025"}
	// Rows for each image: views × noises × (1 + steps of an attack), of Sun et al. 2021 and the methods they name, at the tier.
	for recipe, rows := range map[string]int{
		"A/c10/g": 1, "A/c10/g-jsd": 2, "A/c10/aa": 1, "A/c10/aa-jsd": 3, "A/c10/am-jsd": 3, "A/c10/am-hcr": 6, "A/c10/fm": 1, "A/c10/fm-jsd": 3, "A/c10/fm-hcr": 6,
		"A/c10/smoothadv": 6, "A/c10/macer": 6, "X/c10/cat-rs": 6, "X/c10/smoothmix": 6,
	} {
		m, err := s.Model(recipe, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Augment == "none" {
			t.Errorf("%s: %s, and the network it begins with was trained with crops and flips", recipe, m.Augment)
		}
		if m.BatchSize*rows != 384 || m.Epochs*rows != 6 || m.Begin == nil || m.Network != "resnet20" || m.WarmUp != 0 || m.Schedule != "cosine" {
			t.Errorf("%s: %d images in a step of %d rows each, %d epochs; %+v", recipe, m.BatchSize, rows, m.Epochs, m)
		}
		if images := 49920; images%m.BatchSize != 0 || images/m.BatchSize*m.Epochs != 780 {
			t.Errorf("%s: %d steps", recipe, images/m.BatchSize*m.Epochs)
		}
	}
	m, err := s.Model("A/c10/g-bn", 0, 1)
	if err != nil || m.Begin != nil || m.Start != "A/c10/g@1" {
		t.Errorf("what is adapted: %+v, %v", m, err)
	}
	// What is fine-tuned has the network that its baseline began with, not the tier's.
	s.Places["fashionmnist-start"] = "../../../notebooks/models/fmnist-cnn-s025"
	if m, err = s.Model("D/fmnist/acce-act", 1, 1); err != nil || m.Network != "small-cnn" || m.Begin != nil || m.Start != "D/fmnist/at-e050@1" {
		t.Errorf("fine-tuned: %+v, %v", m, err)
	}
	// That network was trained without crops and flips, which the recipes have; its fine-tuning goes on without, and that of what began so.
	if baseline, err := s.Model("D/fmnist/at-e050", 0, 1); err != nil || baseline.Begin == nil || baseline.Augment != "none" || m.Augment != "none" {
		t.Errorf("%s and %s, want none; %v", baseline.Augment, m.Augment, err)
	}
	s.Tier.Data["cifar10"] = recipe.DataPart{Rows: 100, Epochs: 6}
	if _, err := s.Model("A/c10/fm-hcr", 0, 1); err == nil || !strings.Contains(err.Error(), "takes 6 rows") {
		t.Errorf("100 rows in a step: %v", err)
	}
	o := Options{Folder: t.TempDir(), Table: "A/table2", Tier: "evidence"}
	var start *StartError
	if _, err := Plan(o); !errors.As(err, &start) || start.Data != "cifar10" {
		t.Errorf("without a network to begin with: %v", err)
	}
	o.Places = map[string]string{"cifar10-start": filepath.Join(t.TempDir(), "none")}
	if _, err := Plan(o); err == nil || !strings.Contains(err.Error(), "the network to begin with (cifar10-start)") {
		t.Errorf("no file: %v", err)
	}
}

// Every recipe that is built in becomes a model that can be trained at every tier, and every table has its rows.
func TestBuiltInLibrary(t *testing.T) {
	l := opened(t)
	for _, name := range l.Names(recipe.Tiers) {
		s := atTier(t, l, name)
		for _, recipe := range l.Names(recipe.Recipes) {
			models, err := s.Models(recipe)
			if err != nil {
				t.Errorf("%s at %s: %v", recipe, name, err)
				continue
			}
			for _, m := range models {
				if m.Adapt != nil {
					continue
				}
				if _, err := s.Options(m); err != nil {
					t.Errorf("%s at %s: %v", m.Name, name, err)
				}
				for _, e := range m.Milestones {
					if e > m.Epochs {
						t.Errorf("%s at %s: milestone %d of %d epochs", m.Name, name, e, m.Epochs)
					}
				}
			}
		}
		for _, table := range l.Names(recipe.Tables) {
			made, err := l.Table(table)
			if err != nil {
				t.Fatal(err)
			}
			m := &store.Manifest{Tier: s.Tier}
			if _, err := take(m, s, made, nil); err != nil {
				t.Errorf("%s at %s: %v", table, name, err)
			}
			if _, err := s.Tier.Cells(made.Measure.Radii); err != nil {
				t.Errorf("%s at %s: %v", table, name, err)
			}
		}
		for kind, o := range map[string]tier.CertifySettings{"certify": s.Tier.Certify, "calibration": s.Tier.Calibration.Certify} {
			if _, err := o.Options(.25).Plan(); err != nil {
				t.Errorf("%s of %s: %v", kind, name, err)
			}
		}
	}
}

// The commands for a GPU that docs/speed.md gives ask for five networks in the cells that it says, and with the tiers that try them each training is one
// step and each cell one image.
func TestCommandsForAGPU(t *testing.T) {
	text := testkit.Read(t, "../../../docs/speed.md")
	const file = "../../../notebooks/results/experiments/one-step.yaml"
	cells := map[string]int{"A/table2 gpu": 16, "A/table3 gpu": 11, "A/table2 T3": 76, "A/table2 one-step": 16, "A/table3 one-step": 11, "A/table2 one-step-110": 16}
	for _, found := range regexp.MustCompile(`certspec experiment run (\S+) --tier (\S+) --engine xla:cuda .*--rows (\S+)`).FindAllStringSubmatch(string(text), -1) {
		for _, tier := range []string{found[2], map[string]string{"gpu": "one-step", "T3": "one-step-110"}[found[2]]} {
			e, err := Plan(Options{Folder: t.TempDir(), Table: found[1], Tier: tier, Rows: strings.Split(found[3], ","), Add: []string{file}})
			if err != nil {
				t.Fatal(err)
			}
			key := recipe.StoredName(found[1]) + " " + tier
			if want := 5 + 5*cells[key]; len(e.Jobs) != want { // five networks, and each in all cells
				t.Errorf("%s: %d jobs; want %d", key, len(e.Jobs), want)
			}
			delete(cells, key)
			for _, m := range e.Manifest.Models {
				network := map[string]string{"one-step": "resnet20", "one-step-110": "resnet110"}[tier]
				if network != "" && (m.Epochs != 1 || m.BatchSize != 10 || m.Train != "synthetic/train[count=10]" || m.Network != network) {
					t.Errorf("%s: %+v", key, m)
				}
			}
		}
	}
	if len(cells) > 0 {
		t.Errorf("no command for %v", cells)
	}
}

// What makes no sense is refused before anything is trained.
func TestBadRecipes(t *testing.T) {
	for body, want := range map[string]string{
		"{from: A/c10, method: hrc}":                                    `unknown method "hrc"; expected "hcr"`,
		"{from: A/c10, method: hcr, options: {lamda: 3}}":               `unknown option "lamda"`,
		"{from: A/c10, method: hcr, options: {views: 3, noises: 0}}":    "0 noises",
		"{from: A/c10, views: furiermix}":                               `expected "fouriermix"`,
		"{from: A/c10, data: cifar11}":                                  `"cifar11"; the nearest is "cifar10"`,
		"{from: A/c10, epochs: 0, milestones: []}":                      "0 epochs",
		"{from: A/c10, adapt: {method: bn}}":                            "start is missing",
		"{from: A/c10, start: A/c10/gg}":                                `there is no recipe "A/c10/gg"; the nearest is "sun2021/c10/g"`,
		"{from: A/c10, start: A/c10}":                                   "only to inherit from",
		"{from: A/c10, network: resnet19}":                              `no network "resnet19"`,
		"{from: A/c10, input: centre}":                                  `no input layer "centre"`,
		"{from: A/c10, schedule: cosin}":                                `unknown schedule "cosin"`,
		"{from: A/c10, augment: flop}":                                  `no augmentation "flop"`,
		"{from: A/c10, sigma: .nan}":                                    "σ = NaN",
		"{from: A/c10, shorter: 0.5}":                                   "shorter is 0.5",
		"{from: A/c10, initial: wide}":                                  `no initialisation "wide"`,
		"{from: A/c10, batch: 1}":                                       "batches of 1 images",
		"{from: A/c10, rate: -1}":                                       "learning rate -1",
		"{from: A/c10, method: jsd, options: {views: 3}}":               "takes 3 views of an image",
		"{from: A/c10, start: A/c10/g, adapt: {method: tint}}":          `no method "tint"`,
		"{from: A/c10, start: A/c10/g, adapt: {method: bn, steps: -1}}": "-1 steps",
	} {
		o := tiny(t, tinyFile(t, "rows: [x]\n"))
		text := testkit.Read(t, o.Add[0])
		testkit.Write(t, []byte(strings.Replace(string(text), "recipes:\n", "recipes:\n  x: "+body+"\n", 1)), o.Add[0])
		if _, err := Plan(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", body, err, want)
		}
	}
	for name, change := range map[string]func(*Options){
		`there is no table "tny"; the nearest is "tiny"`:      func(o *Options) { o.Table = "tny" },
		`there is no tier "t1"; the nearest is "T1"`:          func(o *Options) { o.Tier = "t1" },
		`there is no row "tiny/h"; the nearest is "tiny/hcr"`: func(o *Options) { o.Rows = []string{"tiny/h"} },
		`there is no row "tiny/*/h"`:                          func(o *Options) { o.Rows = []string{"tiny/g", "tiny/*/h"} },
		`there is no data "cifr10"; the nearest is "cifar10"`: func(o *Options) { o.Places = map[string]string{"cifr10": "x"} },
		"read of CIFAR and ImageNet alone":                    func(o *Options) { o.Places = map[string]string{"svhn-c": "x"} },
		"read, not made: --data imagenet-c=FOLDER":            func(o *Options) { o.Table, o.Tier, o.Add = "A/table6", "T3", nil },
		"A/table7: the corrupted images of ImageNet":          func(o *Options) { o.Table, o.Tier, o.Add = "A/table7", "T0", nil },
		"shard 2 of 2": func(o *Options) { o.Shard, o.Shards = 2, 2 },
		"no folder":    func(o *Options) { o.Folder = "" },
	} {
		o := tiny(t, tinyFile(t, ""))
		change(&o)
		if _, err := Plan(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; want %s", err, name)
		}
	}
}

// Rows are named by patterns as in tables, too, beside whole names.
func TestRowsByPattern(t *testing.T) {
	plan := func(rows ...string) int {
		o := tiny(t, tinyFile(t, ""))
		o.Rows = rows
		e, err := Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		return len(e.Jobs)
	}
	one, other, all := plan("tiny/g"), plan("tiny/hcr"), plan()
	if got := plan("tiny/g*"); one == 0 || one >= all || got != one {
		t.Errorf("%d jobs of tiny/g*, %d of tiny/g, %d of all", got, one, all)
	}
	if got, want := plan("*/hcr", "tiny/g"), plan("tiny/hcr", "tiny/g"); got != want || got <= other {
		t.Errorf("%d jobs of */hcr and tiny/g; want %d, more than %d", got, want, other)
	}
}

// A user who adds recipes without rows is told.
func TestUnusedRecipes(t *testing.T) {
	for rows, want := range map[string]int{"": 1, "rows: [tiny/hcr]\n": 0} {
		o := tiny(t, tinyFile(t, rows))
		o.Table = "A/table8"
		var said []string
		o.Progress = func(s progress.State) {
			if s.Message != "" {
				said = append(said, s.Message)
			}
		}
		if _, err := Plan(o); err != nil {
			t.Fatal(err)
		}
		if len(said) != want || want > 0 && !strings.Contains(said[0], "rows: [tiny/g]") {
			t.Errorf("%q: said %q", rows, said)
		}
	}
}

// A folder is for one tier, one place of data and one form of each recipe, and for nothing else.
func TestForeignFolders(t *testing.T) {
	file := tinyFile(t, "")
	o := tiny(t, file)
	e, err := Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Manifest.Write(o.Folder); err != nil {
		t.Fatal(err)
	}
	if _, err := Plan(o); err != nil {
		t.Fatalf("the same again: %v", err)
	}
	var mismatch *store.MismatchError
	other := o
	other.Tier = "cpu"
	if _, err := Plan(other); !errors.As(err, &mismatch) || mismatch.What != "the tier" {
		t.Errorf("another tier: %v", err)
	}
	other = o
	other.Places = map[string]string{"cifar10": "cifar10-jpeg"}
	if _, err := Plan(other); !errors.As(err, &mismatch) {
		t.Errorf("another place: %v", err)
	}
	text := testkit.Read(t, file)
	testkit.Write(t, []byte(strings.Replace(string(text), "lambda: 4", "lambda: 5", 1)), file)
	if _, err := Plan(o); !errors.As(err, &mismatch) || mismatch.What != "the model tiny/hcr@1" ||
		mismatch.There != `{"options":{"lambda":4}}` || mismatch.Here != `{"options":{"lambda":5}}` {
		t.Errorf("another recipe: %v", err)
	}
	foreign := o
	foreign.Folder = t.TempDir()
	testkit.Write(t, nil, foreign.Folder, "thesis.tex")
	if _, err := Plan(foreign); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a folder of something else: %v", err)
	}
	testkit.Write(t, []byte(`{"format": 1, "tables": 3}`), foreign.Folder, "manifest.json")
	if _, err := Plan(foreign); err == nil || !strings.Contains(err.Error(), "is no manifest") {
		t.Errorf("another manifest: %v", err)
	}
}

// A folder goes on where the tier limits a method that came in later, and not where it limits one of its own otherwise.
func TestFolderBeforeAMethod(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	o.Tier = "cpu"
	e, err := Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	methods := e.Manifest.Tier.Methods
	if _, ok := methods["cat-rs"]; !ok {
		t.Fatalf("the tier's limits %v have none of cat-rs", methods)
	}
	delete(methods, "cat-rs")
	if err := e.Manifest.Write(o.Folder); err != nil {
		t.Fatal(err)
	}
	if e, err = Plan(o); err != nil {
		t.Fatal(err)
	}
	if e.Manifest.Tier.Methods["cat-rs"] == nil {
		t.Error("the limits of the new method are not kept")
	}
	e.Manifest.Tier.Methods["macer"]["noises"]++
	if err := e.Manifest.Write(o.Folder); err != nil {
		t.Fatal(err)
	}
	var mismatch *store.MismatchError
	if _, err := Plan(o); !errors.As(err, &mismatch) || mismatch.What != "the tier cpu" {
		t.Errorf("another limit of a method: %v", err)
	}
}

// A folder goes on where the tier takes other images of data that none of its models is of, and not where it takes others of theirs.
func TestFolderBesideOtherData(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	o.Tier = "cpu"
	e, err := Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind, images string) error {
		part := e.Manifest.Tier.Data[kind]
		part.Images = images
		e.Manifest.Tier.Data[kind] = part
		if err := e.Manifest.Write(o.Folder); err != nil {
			t.Fatal(err)
		}
		went, err := Plan(o)
		if err == nil && went.Manifest.Tier.Data["fashionmnist"].Images != "count=500" {
			t.Errorf("it keeps the images %q", went.Manifest.Tier.Data["fashionmnist"].Images)
		}
		return err
	}
	if err := of("fashionmnist", "skip=20"); err != nil {
		t.Error(err)
	}
	var mismatch *store.MismatchError
	if err := of(e.Manifest.Models[0].Data, "count=3"); !errors.As(err, &mismatch) || mismatch.What != "the tier cpu" {
		t.Errorf("other images of its own data: %v", err)
	}
}

// A folder that was begun when adaptation took class-balanced images goes on with these, and a new one draws them at random.
func TestFolderKeepsItsImages(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	for sample, want := range map[string]string{"random": "random=16:", "": "count=16"} {
		e, err := Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		m := e.Manifest.Model("tiny/bn@1")
		m.Adapt.Sample = sample
		if err := e.Manifest.Write(o.Folder); err != nil {
			t.Fatal(err)
		}
		if e, err = Plan(o); err != nil {
			t.Fatal(err)
		}
		if got := settings.AdaptedTo(e.Manifest.Model("tiny/bn@1"), sweep.Cell{}); !strings.HasPrefix(got, want) {
			t.Errorf("begun with %q, it adapts to %s", sample, got)
		}
		o.Folder = filepath.Join(t.TempDir(), "other")
	}
}

// A recipe that is shorter takes its share of the epochs that the tier has, and its milestones and ramps shrink with them; a row may have some seeds.
func TestShorter(t *testing.T) {
	l := opened(t)
	for _, c := range []struct {
		tier                 string
		epochs, kappa, reach int
		initial              nets.Initial
		milestones           []int
		recipe               string
	}{
		{"cpu", 60, 14, 17, "", []int{29, 43, 50}, "B/mnist-8k/good80"},
		{"cpu", 12, 3, 3, "", []int{6, 9, 10}, "B/goals/short"},
		{"T3", 84, 20, 24, nets.Initial("ibp"), []int{40, 60, 70}, "B/goals/short-ibp"},
	} {
		s := atTier(t, l, c.tier)
		m, err := s.Model(c.recipe, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Epochs != c.epochs || m.Options["kappa_over"] != float64(c.kappa) || m.Options["epsilon_over"] != float64(c.reach) || m.Initial != c.initial || !slices.Equal(m.Milestones, c.milestones) {
			t.Errorf("%s at %s: %d epochs, milestones %v, options %v, initial %q", c.recipe, c.tier, m.Epochs, m.Milestones, m.Options, m.Initial)
		}
		lines, _, err := linesOf(&store.Manifest{}, s, recipe.Row{Recipe: "B/mnist-8k/oe", Seeds: []uint64{1}}, recipe.Model{})
		if err != nil || len(lines) != 1 || !slices.Equal(lines[0].Models, []string{"B/mnist-8k/oe@1"}) {
			t.Errorf("of the seed 1 %+v, %v", lines, err)
		}
		// Seeds of a row stand in the place of the recipe's, at most as many as the tier has.
		lines, _, err = linesOf(&store.Manifest{}, s, recipe.Row{Recipe: "B/mnist-8k/oe", Seeds: []uint64{4, 3, 5}}, recipe.Model{})
		want := []string{"B/mnist-8k/oe@4", "B/mnist-8k/oe@3", "B/mnist-8k/oe@5"}
		if s.Tier.Seeds > 0 {
			want = want[:s.Tier.Seeds]
		}
		if err != nil || len(lines) != 1 || !slices.Equal(lines[0].Models, want) {
			t.Errorf("of other seeds %+v, %v; want %v", lines, err, want)
		}
	}
}
