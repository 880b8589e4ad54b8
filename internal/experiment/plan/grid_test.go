package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
)

// The grid of Fridovich-Keil et al. 2022: 447 networks, counted as in the paper's file, each at full size from the one below it.
func TestGridOfPrunedNetworks(t *testing.T) {
	l := opened(t)
	counts := map[string]int{}
	for _, name := range l.Names(recipe.Recipes) {
		of := strings.Split(name, "/")
		if of[0] != "C" || of[1] == "smoothed" {
			continue
		}
		counts["all"]++
		counts[of[1]]++
		counts[of[2]]++
		counts[strings.Split(of[3], "-")[0]]++
	}
	for name, want := range map[string]int{
		"all": 447, "conv8": 141, "resnet18": 153, "vgg16": 153, "clean": 149, "augmix": 149, "gaussian": 149,
		"dense": 9, "ft": 87, "gmp": 87, "edgepopup": 87, "biprop": 87, "lrr": 45, "lth": 45,
	} {
		if counts[name] != want {
			t.Errorf("%s: %d networks; expected %d", name, counts[name], want)
		}
	}
	setup := func(tier string) *settings.Setup {
		of, err := l.Tier(tier)
		if err != nil {
			t.Fatal(err)
		}
		return &settings.Setup{Library: l, Tier: of}
	}
	model := func(tier, recipe string) recipe.Model {
		m, err := setup(tier).Model(recipe, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	// At full size: settings of the source libraries.
	if m := model("T3", "C/vgg16/gaussian/lrr-0.8-global"); m.Start != "C/vgg16/gaussian/lrr-0.6-global@1" || m.Network != "vgg16" || m.Width != 0 || m.Epochs != 160 ||
		!slices.Equal(m.Milestones, []int{80, 120}) || m.Views != "gaussian" || *m.Sparsity != 0.8 || m.Prune != "lrr" {
		t.Errorf("%+v", m)
	}
	if m := model("T3", "C/conv8/clean/gmp-0.9-global"); m.Start != "" || m.LearningRate != 0.05 || m.WarmUp != 1 || m.Schedule != "" || *m.WeightDecay != 1e-4 {
		t.Errorf("%+v", m)
	}
	if m := model("T3", "C/resnet18/augmix/biprop-0.95-layerwise"); m.Network != "resnet18-unbiased" || m.BatchSize != 256 || m.Epochs != 100 || m.PruneOptions["layerwise"] != true {
		t.Errorf("%+v", m)
	}
	if m := model("T3", "C/resnet18/clean/ft-0.5-global"); m.Epochs != 40 || m.LearningRate != 0.01 || m.Start != "C/resnet18/clean/dense@1" {
		t.Errorf("%+v", m)
	}
	// A tier that makes three sparsities has rounds at these alone, and narrow networks.
	m := model("cpu", "C/vgg16/clean/lrr-0.8-global")
	if m.Start != "C/vgg16/clean/lrr-0.5-global@1" || m.Width != 0.125 || m.Network != "vgg16" || m.PruneOptions["levels"] != "0.5/0.8/0.95" || m.Epochs != setup("cpu").Tier.Epochs ||
		m.BatchSize != 32 || m.LearningRate != 0.1*32/128 { // as many rows of fewer a step learn more; the rate falls with them
		t.Errorf("%+v", m)
	}
	table, err := l.Table("C/table1")
	if err != nil || len(table.Rows) != 447 {
		t.Fatalf("%d rows, %v", len(table.Rows), err)
	}
	of := &store.Manifest{Tier: setup("cpu").Tier}
	lines, err := take(of, setup("cpu"), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Dense and six prunings × three sparsities for three networks and three augmentations; two seeds of the dense.
	if len(lines) != 9*19 || len(of.Models) != 9*20 {
		t.Errorf("%d lines of %d networks; expected %d and %d", len(lines), len(of.Models), 9*19, 9*20)
	}
	// The certified grid: dense and three prunings × three sparsities, trained with noise; each round from the one below it that the tier makes.
	certified, err := l.Table("C/certified")
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := take((&store.Manifest{Tier: setup("cpu").Tier}), setup("cpu"), certified, nil); err != nil || len(lines) != 10 {
		t.Errorf("%d lines, %v; expected 10", len(lines), err)
	}
	if m := model("cpu", "C/smoothed/lrr-0.8"); m.Noise() != 0.25 || m.Start != "C/smoothed/lrr-0.5@1" || m.Width != 0.125 {
		t.Errorf("%+v", m)
	}
	for recipe, want := range map[string]float64{"C/vgg16/clean/lrr-0.8-global": 12, "C/vgg16/clean/ft-0.8-global": 3, "C/vgg16/clean/dense": 12, "C/vgg16/clean/biprop-0.5-global": 12} {
		m := of.Model(recipe + "@1")
		step, err := setup("cpu").Step(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := of.Passes(m, step); err != nil || math.Abs(got-want) > 0 {
			t.Errorf("%s: %v passes, %v; expected %v", recipe, got, err, want)
		}
	}
}
