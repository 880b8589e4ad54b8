package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/measure"
)

// Published figures of foreign images stand beside ours by recipe, since titles repeat over data; those of sets that a line is not measured on are left out.
func TestBesideOfForeignImages(t *testing.T) {
	of := func(set string, clean, worst float64) *ForeignFigures {
		return &ForeignFigures{Set: set, Models: 1, Accuracy: .991, Own: .98, Separation: measure.Separation{Confidence: .2, Worst: .7, AUC: measure.Area{Conservative: clean, Value: 1}, WorstAUC: measure.Area{Conservative: worst, Value: 1}}}
	}
	line := func(data, recipe string, found map[string]any) FilledLine {
		return FilledLine{Title: "GOOD 80", Group: "GOOD", Data: data, recipe: recipe, foreign: []string{"clothes", "uniform"}, Found: found}
	}
	f := &Filled{Title: "Told", Source: "a paper", Tier: "cpu", Lines: []FilledLine{
		line("digits", "X/digits/good80", map[string]any{"bound": []*ForeignFigures{of("clothes", .998, .41)}, "attack": []*ForeignFigures{of("clothes", .997, .6)}}),
		line("mail", "X/mail/good80", map[string]any{}),
		line("other", "X/other/good80", map[string]any{}),
	}}
	p := recipe.Published{
		"X/digits/good80": {"accuracy, %": 99.4, "own confidence, %": 98.5, "clothes AUC, %": 99.8, "clothes GAUC, %": 55.5,
			"letters AUC, %": 1, "letters AAUC, %": 1, "letters GAUC, %": 1},
		"X/mail/good80": {"clothes confidence, %": 16.3, "clothes bound, %": 55.1},
	}
	text := ""
	for _, row := range f.Beside(p).Rows {
		text += fmt.Sprintln(row...)
	}
	if want := `digits GOOD 80 accuracy, % 99.1 99.4 -0.3
digits GOOD 80 clothes AUC, % 99.8 99.8 0.0
digits GOOD 80 clothes GAUC, % 41.0 55.5 -14.5
digits GOOD 80 own confidence, % 98.0 98.5 -0.5
mail GOOD 80 clothes bound, % – 55.1 –
mail GOOD 80 clothes confidence, % – 16.3 –
`; text != want {
		t.Errorf("%swant\n%s", text, want)
	}
	p = recipe.Published{"X/digits/good80": {"clothes AAUC, %": 50, "clothes confidence, %": 10, "clothes bound, %": 90}}
	text = fmt.Sprint(f.Beside(p).Rows)
	if want := "[[digits GOOD 80 clothes AAUC, % 60.0 50.0 10.0] [digits GOOD 80 clothes bound, % 70.0 90.0 -20.0] [digits GOOD 80 clothes confidence, % 20.0 10.0 10.0]]"; text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	for _, bad := range []string{"{a: {clothes: [1]}}", "{a: {clothes: [1, 2, 3, 4]}}", "{a: {clean: many}}", "{a: {clothes: {b: 1}}}"} {
		if err := yaml.Unmarshal([]byte(bad), &p); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// What is published of paper B: cells of Bitterwolf et al. 2020 and of its authors' table 1; no clean confidence tells worse than an attacked or a
// bounded one; each figure is of a recipe of the table, on a set that the table measures with the data of that recipe.
func TestPublishedOfForeignImages(t *testing.T) {
	library, err := recipe.Open()
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]recipe.Table{}
	for _, name := range []string{"B/table1", "B/table4", "B/table8", "B/table9"} {
		table, err := library.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		tables[name] = table
		for row, figures := range table.Published {
			r, err := library.Recipe(row)
			if err != nil {
				t.Fatal(err)
			}
			l := FilledLine{}
			for _, m := range table.Measure.All() {
				if b, ok := m.(*measure.Bound); ok {
					for _, name := range b.Sets[r.Data].Foreign {
						l.foreign = append(l.foreign, measure.SetName(name))
					}
				}
			}
			for figure, v := range figures {
				if !(v >= 0 && v <= 100) || !l.has(figure) && r.Data != "mnist-8k" { // which shares the rows of mnist, and has some of its sets
					t.Errorf("%s: %s: %s is %v; sets are %v", name, row, figure, v, l.foreign)
				}
				if set, ok := strings.CutSuffix(figure, " GAUC, %"); ok && !(v <= figures[set+" AAUC, %"] && figures[set+" AAUC, %"] <= figures[set+" AUC, %"]) {
					t.Errorf("%s: %s on %s: %v", name, row, set, figures)
				}
				if set, ok := strings.CutSuffix(figure, " confidence, %"); ok && set != "own" && !(v <= figures[set+" bound, %"]) {
					t.Errorf("%s: %s on %s: %v", name, row, set, figures)
				}
			}
		}
	}
	for _, c := range []struct {
		table, row, set string
		want            []float64
	}{
		{"B/table1", "B/mnist/good80", "clothes", []float64{99.8, 90.3, 55.5}},
		{"B/table1", "B/mnist-8k/good80", "clothes", []float64{99.8, 90.3, 55.5}},
		{"B/table1", "B/c10/good100", "svhn", []float64{75.5, 58.9, 56.9}},
		{"B/table1", "B/svhn/good40", "lsun", []float64{99.5, 95.1, 55.7}},
		{"B/table4", "B/svhn/good95", "cifar10", []float64{10.1, 15.7}},
		{"B/table4", "B/c10/good100", "lsun", []float64{30.6, 41.5}},
		{"B/table8", "B/mnist/good95", "omniglot", []float64{97.8, 42.2, 2.4}},
		{"B/table8", "B/svhn/good100", "smooth-rgb", []float64{96.7, 77.5, 73.5}},
		{"B/table9", "B/c10/good80", "cifar100", []float64{85.6, 36, 32.6}},
		{"B/table9", "B/mnist/good90", "uniform", []float64{100, 100, 100}},
	} {
		names := []string{"confidence", "bound"}
		if len(c.want) == 3 {
			names = []string{"AUC", "AAUC", "GAUC"}
		}
		var got []float64
		for _, n := range names {
			got = append(got, tables[c.table].Published[c.row][recipe.ForeignFigure(c.set, n)])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s on %s: %v, want %v", c.table, c.row, c.set, got, c.want)
		}
	}
	if v, ok := tables["B/table4"].Published["B/c10/good100"][recipe.ForeignFigure("own", "confidence")]; ok {
		t.Errorf("a figure that the print has lost: %v", v)
	}
}
