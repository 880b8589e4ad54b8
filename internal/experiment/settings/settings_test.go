package settings

import (
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/internal/testkit"
)

func opened(t *testing.T) *recipe.Library {
	t.Helper()
	l, err := recipe.Open()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func atTier(t *testing.T, l *recipe.Library, name string) *Setup {
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
				var first []recipe.Model
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
	for _, name := range l.Names(recipe.Tiers) {
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
				m := models[0]
				step, err := s.Step(&m)
				if err != nil {
					t.Fatal(err)
				}
				arms[m.Method] = fmt.Sprintf("%d models from %s, %d images of %d rows in a step, %d epochs", len(models), m.Start, m.BatchSize, step.Rows, m.Epochs)
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
	model := func(tier, name string, point int) recipe.Model {
		t.Helper()
		of, err := l.Tier(tier)
		if err != nil {
			t.Fatal(err)
		}
		m, err := (&Setup{Library: l, Tier: of}).Model(name, point, 1)
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
	for _, name := range []string{"A/c10/fm-hcr", "D/c10/at-t10-m8-s025-e100"} {
		if m := model("evidence", name, 0); m.Schedule != "cosine" || m.Milestones != nil || m.LearningRate != .02 || m.Network != "resnet20" {
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
	for name, want := range map[string]map[string]any{
		"X/c10/cat-rs":    {"noises": 4., "epsilon": 1., "steps": 4., "lambda": 0.5},
		"X/c10/smoothmix": {"noises": 2., "steps": 4., "alpha": 0.5, "eta": 5., "warm_up": 10.},
	} {
		m := model("T3", name, 0)
		if m.Epochs != 150 || !slices.Equal(m.Milestones, []int{50, 100}) || m.LearningRate != .1 || float64(m.BatchSize)*want["noises"].(float64) != 256 || m.Noise() != .25 || m.Network != "resnet110" || !maps.Equal(m.Options, want) {
			t.Errorf("%+v", m)
		}
	}
	// A rate that the network of the tier does not bear is lowered, a smaller one is not.
	if g, macer := model("cpu", "A/c10/g", 0), model("cpu", "A/c10/macer", 0); g.Network != "small-cnn" || g.LearningRate != .02 || macer.LearningRate != .01 {
		t.Errorf("%+v, %+v", g, macer)
	}
	for _, bad := range []float64{-1, math.NaN()} {
		broken := &Setup{Library: l, Tier: recipe.Tier{Name: "mine", Data: map[string]recipe.DataPart{"cifar10": {Rate: bad}}}}
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
	for name, want := range map[string]int{"D/c10/brier-act/t2-m4-s012-e025": 16, "D/c10/acce-act/t2-m4-s012-e025": 16, "D/imagenet/acce-act": 6, "D/imagenet/acce-act-star": 6, "D/imagenet/exact-start": 6} {
		r, err := l.Recipe(name)
		if err != nil {
			t.Fatal(err)
		}
		points := (&Setup{Library: l}).grid(r)
		seen := map[string]bool{}
		for _, p := range points {
			seen[fmt.Sprint(p)] = true
		}
		if len(seen) != want {
			t.Errorf("%s has %d models, want %d", name, len(seen), want)
		}
	}
	t1, _ := l.Tier("T1")
	count := map[string]int{}
	for _, word := range []string{"C", "C-bar", "F"} {
		cells, err := t1.Cells(recipe.Radius{Sweeps: []string{word}})
		if err != nil {
			t.Fatal(err)
		}
		count[word] = len(cells) - 1 // without the clean one
	}
	if count["C"] != 15*3 || count["C-bar"] != 10*3 || count["F"] != 8*2 {
		t.Errorf("cells of T1: %v", count)
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
	sets := map[string]bool{} // many tiers take equal ones
	for _, name := range l.Names(recipe.Tiers) {
		s := atTier(t, l, name)
		s.Places = map[string]string{"cifar10": "cifar10-jpeg"}
		for _, kind := range []string{"fashionmnist", "cifar10"} {
			_, test, err := s.Sets(kind)
			if err != nil {
				t.Fatal(err)
			}
			for _, selection := range []string{s.Tier.CleanImages(kind), s.Tier.ConfidenceImages(kind)} {
				set := tier.Select(test, selection)
				if sets[set] {
					continue
				}
				sets[set] = true
				d, err := dataset.Open(set)
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
	file := testkit.Write(t, []byte(strings.ReplaceAll(text, recipe.Spelled("A/c10/fm-hcr"), "x/fm-hcr")),
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

// Recipes of SVHN read the official files, and those of ImageNet learn from random resized crops.
func TestSetsOfRecipes(t *testing.T) {
	l := opened(t)
	s := atTier(t, l, "T3")
	for _, name := range l.Names(recipe.Recipes) {
		models, err := s.Models(name)
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
