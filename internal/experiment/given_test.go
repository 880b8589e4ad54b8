package experiment

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/resample"
)

// At a tier with rows all methods take equal rows in a step and in all, and begin with the network that was given.
func TestEqualRowsFromAGivenNetwork(t *testing.T) {
	l := opened(t)
	s := atTier(t, l, "evidence")
	s.Places = map[string]string{"cifar10-start": "../../notebooks/models/cifar10-resnet20-s025"}
	// Rows for each image: views × noises × (1 + steps of an attack), of Sun et al. 2021 and the methods they name, at the tier.
	for recipe, rows := range map[string]int{
		"A/c10/g": 1, "A/c10/g-jsd": 2, "A/c10/aa": 1, "A/c10/aa-jsd": 3, "A/c10/am-jsd": 3, "A/c10/am-hcr": 6, "A/c10/fm": 1, "A/c10/fm-jsd": 3, "A/c10/fm-hcr": 6,
		"A/c10/smoothadv": 6, "A/c10/macer": 6, "X/c10/cat-rs": 6, "X/c10/smoothmix": 6,
	} {
		m, err := s.Model(recipe, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Augment == train.NoneAug {
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
	// What is fine-tuned has the network that its baseline began with, not that of the tier.
	s.Places["fashionmnist-start"] = "../../notebooks/models/fmnist-cnn-s025"
	if m, err = s.Model("D/fmnist/acce-act", 1, 1); err != nil || m.Network != "small-cnn" || m.Begin != nil || m.Start != "D/fmnist/at-e050@1" {
		t.Errorf("fine-tuned: %+v, %v", m, err)
	}
	// That network was trained without crops and flips, which the recipes have; its fine-tuning goes on without, and that of what began so.
	if baseline, err := s.Model("D/fmnist/at-e050", 0, 1); err != nil || baseline.Begin == nil || baseline.Augment != train.NoneAug || m.Augment != train.NoneAug {
		t.Errorf("%s and %s, want none; %v", baseline.Augment, m.Augment, err)
	}
	s.Tier.Data["cifar10"] = dataPart{Rows: 100, Epochs: 6}
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

// Training begins with the weights of the file: with a rate near 0 it ends with them. A file that is another one by now is refused.
func TestBeginsWithTheGivenWeights(t *testing.T) {
	file := tinyFile(t, `tiers:
  near: {title: near, epochs: 1, certify: {rule: fixed, n: 50, n0: 10, block: 10}, clean: "skip=3,count=4", corrupted: {images: count=4, severities: [3]}, data: {tiny: {rate: 1.0e-30, given: true}}}
`)
	o := tiny(t, file)
	if _, err := TrainRecipe(t.Context(), "tiny/g", nil, filepath.Join(o.Folder, "first"), o); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(o.Folder, "first")
	near := tiny(t, file)
	near.Tier, near.Places, near.Rows = "near", map[string]string{"tiny-start": first}, []string{"tiny/g"}
	e, err := Plan(near)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := e.Estimate(t.Context(), false); err != nil || len(left.Warnings) == 0 || !strings.Contains(left.Warnings[0], "2 of 3 classes have no image") {
		t.Errorf("of every third image: warnings %q, %v", left.Warnings, err)
	}
	if err := RunJobs(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	filled, err := Fill(t.Context(), near.Folder, "", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	ends := e.Manifest.Model("tiny/g@1")
	if ends.Begin == nil || ends.Begin.File != first {
		t.Fatalf("%+v", ends)
	}
	if card := modelPath(near.Folder, ends) + ".json"; !strings.Contains(text(t, card), `"start": "`+ends.Begin.Weights) {
		t.Errorf("the card does not name the weights %s", ends.Begin.Weights)
	}
	if len(filled.Lines[0].Shares) != 3 { // clean, brightness and contrast
		t.Errorf("shares: %+v", filled.Lines[0].Shares)
	}
	for _, ending := range []string{".json", ".safetensors"} {
		if err := os.WriteFile(filepath.Join(near.Folder, "moved"+ending), []byte(text(t, first+ending)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	moved := near
	moved.Places = map[string]string{"tiny-start": filepath.Join(near.Folder, "moved")}
	if e, err = Plan(moved); err != nil || e.Manifest.Model("tiny/g@1").Begin.File != moved.Places["tiny-start"] || e.Manifest.Places["tiny-start"] != moved.Places["tiny-start"] {
		t.Errorf("the same network elsewhere: %v", err)
	}
	var mismatch *MismatchError
	moved.Places["tiny-start"] = modelPath(near.Folder, ends)
	if _, err := Plan(moved); !errors.As(err, &mismatch) || !strings.Contains(mismatch.Here, "sha256:") {
		t.Errorf("another network to begin with: %v", err)
	}
	ends.Begin.Weights = "sha256:other"
	if err := ends.Begin.check(); err == nil || !strings.Contains(err.Error(), "sha256:other") {
		t.Errorf("another file: %v", err)
	}
}

// A table that is asked for again has the title and the reference that its recipe has now; what it measures cannot change.
func TestTableOfChangedWords(t *testing.T) {
	m := &Manifest{Tables: []madeTable{{Table: Table{Name: "main", Title: "before", Compare: "Gaussian"}}}}
	now := Table{Name: "main", Title: "after", Source: "table 1", Compare: "AugMix"}
	if err := m.join("folder", &Manifest{Tables: []madeTable{{Table: now}}}); err != nil {
		t.Fatal(err)
	}
	if got := m.Tables[0].Table; len(m.Tables) != 1 || compact(got) != compact(now) {
		t.Errorf("%+v, want %+v", got, now)
	}
	now.Measure.Radii.Clean = true
	var mismatch *MismatchError
	if err := m.join("folder", &Manifest{Tables: []madeTable{{Table: now}}}); !errors.As(err, &mismatch) {
		t.Errorf("another measure: %v", err)
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Of four images in two cells, three answers of eight are right with shares of 0.65, 0.9 and 1.
func TestDistributionOfShares(t *testing.T) {
	s := &Radii{}
	s.set("clean", Outcomes{{0, 1, Right, 0.65}, {1, 1, Wrong, 0}, {2, 1, Right, 0.9}, {3, 1, Abstained, 0}})
	s.set("fog-3", Outcomes{{0, 1, Wrong, 0}, {1, 1, Wrong, 0}, {2, 1, Right, 1}, {3, 1, Abstained, 0}})
	d := distributionOf("both", []*Radii{s, {}}, []string{"clean", "fog-3"})
	want := []float64{3. / 8, 2. / 8, 2. / 8, 2. / 8, 1. / 8, 1. / 8, 1. / 8}
	if d == nil || d.Right != 3./8 {
		t.Fatalf("%+v", d)
	}
	for k, v := range want {
		if math.Abs(d.Above[k]-v) > 1e-12 {
			t.Errorf("p ≥ %g: %v, want %v", shareLevels[k], d.Above[k], v)
		}
	}
	if d := distributionOf("more", []*Radii{s}, []string{"clean", "snow-3"}); d != nil {
		t.Errorf("of a cell that is not there: %+v", d)
	}
}

// AugMix rows crop and mirror once for all views, as AugMix does; the others each view. Adaptation takes random images, and what is certified of
// ImageNet are 350 images (Sun et al. 2021, appendices E and G).
func TestDetailsOfTheRecipes(t *testing.T) {
	l := opened(t)
	s := atTier(t, l, "T3")
	for _, name := range l.Names(Recipes) {
		if !strings.HasPrefix(name, "A/") || strings.HasPrefix(name, "A/c10/fm-hcr-code") {
			continue
		}
		m, err := s.Model(name, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := train.CropFlip
		if m.Data == imagenet {
			want = train.ResizedCropFlip
		}
		if m.Views == "augmix" {
			want += "-shared"
		}
		if m.Augment != want {
			t.Errorf("%s: %s, want %s", name, m.Augment, want)
		}
		if (m.Adapt != nil) != (m.Adapt != nil && m.Adapt.Sample == "random") {
			t.Errorf("%s adapts to %+v", name, m.Adapt)
		}
	}
	g, err := s.Model("A/imagenet/g", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Tier.Cells(radiusMeasure{Sweeps: []string{"C"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells[:2] {
		if name, _ := (&Manifest{Tier: s.Tier}).imagesOf(&g, c); !strings.Contains(name, "skip=143") || (50000+142)/143 != 350 {
			t.Errorf("%v: %s", c, name)
		}
	}
	// Corrupted pictures of ImageNet are those that were published, also those of ImageNet-C-bar, which are other corruptions than CIFAR's.
	m := &Manifest{Tier: s.Tier, Places: map[string]string{"imagenet-c": "shifted"}}
	if cells, err = s.Tier.Cells(radiusMeasure{Sweeps: []string{"ImageNet-C-bar"}, Detail: true}); err != nil || len(cells) != 1+10*5 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	name, change := m.imagesOf(&g, cells[len(cells)-1])
	if want := "folder:" + filepath.Join("shifted", "sparkles", "5") + "[crop=224,channels=rgb,skip=143]"; name != want || change != nil {
		t.Errorf("%s changed by %v, want %s", name, change, want)
	}
	if list := metrics(radiusMeasure{Sweeps: []string{"ImageNet-C-bar"}, Detail: true}, cells); len(list) != 1+10+1+1 || len(list[11].Cells) != 50 || list[11].Name != "mACR ImageNet-C-bar" {
		t.Errorf("metrics %+v", list)
	}
}
