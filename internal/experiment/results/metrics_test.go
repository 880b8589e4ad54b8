package results

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/study"
)

// Of four images in two cells, three answers of eight are right with shares of 0.65, 0.9 and 1.
func TestDistributionOfShares(t *testing.T) {
	f := &TableBuilder{columns: &study.Folder{}}
	column := func(set string, values []float64, marks ...string) *study.Column {
		return &study.Column{Key: study.Key{Network: "a", Set: set, Name: "share"}, Images: []int{0, 1, 2, 3}, Labels: make([]int, 4),
			Values: values, Marks: marks}
	}
	none := math.NaN()
	f.columns.Add(column("clean", []float64{.65, none, .9, none}, "", "x", "", "a"),
		column("fog-3", []float64{none, none, 1, none}, "x", "x", "", "x"))
	row := study.Row{Starts: []study.Start{{Network: "a"}, {Network: "without columns"}}}
	d, err := f.distribution(row, Metric{Name: "both", Cells: []string{"clean", "fog-3"}})
	want := []float64{3. / 8, 2. / 8, 2. / 8, 2. / 8, 1. / 8, 1. / 8, 1. / 8}
	if d == nil || d.Right != 3./8 || err != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	for k, v := range want {
		if math.Abs(d.Above[k]-v) > 1e-12 {
			t.Errorf("p ≥ %g: %v, want %v", shareLevels[k], d.Above[k], v)
		}
	}
	if d, _ := f.distribution(row, Metric{Name: "more", Cells: []string{"clean", "snow-3"}}); d != nil {
		t.Errorf("of a cell that is not there: %+v", d)
	}
}

// AugMix rows crop and mirror once for all views, as AugMix does; the others each view. Adaptation takes random images, and what is certified of
// ImageNet are 350 images (Sun et al. 2021, appendices E and G).
func TestDetailsOfTheRecipes(t *testing.T) {
	l, err1 := recipe.Open()
	made, err2 := l.Tier("T3")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	s := &settings.Setup{Library: l, Tier: made}
	for _, name := range l.Names(recipe.Recipes) {
		if !strings.HasPrefix(name, "A/") || strings.HasPrefix(name, "A/c10/fm-hcr-code") {
			continue
		}
		m, err := s.Model(name, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := modelfile.Augmentation("crop-flip")
		if m.Data == tier.ImageNet {
			want = "random-resized-crop-flip"
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
	cells, err := s.Tier.Cells(recipe.Radius{Sweeps: []string{"C"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells[:2] {
		if name, _ := (&store.Manifest{Tier: s.Tier}).ImagesOf(&g, c); !strings.Contains(name, "skip=143") || (50000+142)/143 != 350 {
			t.Errorf("%v: %s", c, name)
		}
	}
	// Corrupted pictures of ImageNet are those that were published, also those of ImageNet-C-bar, which are other corruptions than CIFAR's.
	m := &store.Manifest{Tier: s.Tier, Places: map[string]string{"imagenet-c": "shifted"}}
	if cells, err = s.Tier.Cells(recipe.Radius{Sweeps: []string{"ImageNet-C-bar"}, Detail: true}); err != nil || len(cells) != 1+10*5 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	name, change := m.ImagesOf(&g, cells[len(cells)-1])
	if want := "folder:" + filepath.Join("shifted", "sparkles", "5") + "[crop=224,channels=rgb,skip=143]"; name != want || change != nil {
		t.Errorf("%s changed by %v, want %s", name, change, want)
	}
	if list := tier.Means(recipe.Radius{Sweeps: []string{"ImageNet-C-bar"}, Detail: true}, cells); len(list) != 1+10+1+1 || len(list[11].Cells) != 50 || list[11].Name != "mACR ImageNet-C-bar" {
		t.Errorf("metrics %+v", list)
	}
}
