package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/resample"
)

// By hand: fine-tuned models differ from the one that they began with, and the model of the best accuracy is
// told from the other at each radius.
func TestChanges(t *testing.T) {
	at := func(radius, accuracy, cce float64) *measure.RadiusErrors {
		half := cce / 2
		return &measure.RadiusErrors{Radius: radius, Accuracy: accuracy, CCE: &cce, ACCE: &half, CBS: &half}
	}
	f := &Filled{Lines: []FilledLine{
		{Title: "A", Models: []string{"a@1", "a@2"}, Calibration: []*measure.RadiusErrors{at(.1, .7, .2), at(.5, .3, .5)}},
		{Title: "B", Models: []string{"b@1"}, Calibration: []*measure.RadiusErrors{at(.1, .6, .1), at(.5, .4, .4)}},
		{Title: "from A", Group: "ACT", start: "a@2", Calibration: []*measure.RadiusErrors{at(.1, .72, .15), nil}},
		{Title: "from B", Group: "ACT", start: "b@1", Calibration: []*measure.RadiusErrors{at(.1, .59, .2), at(.5, .45, .3)}},
		{Title: "from elsewhere", start: "c@1", Calibration: []*measure.RadiusErrors{at(.1, .9, .9), at(.5, .9, .9)}},
	}}
	want := []Change{
		{"from A", "ACT", "A", .1, true, .02, -.05, -.025, -.025},
		{"from B", "ACT", "B", .1, false, -.01, .1, .05, .05},
		{"from B", "ACT", "B", .5, true, .05, -.1, -.05, -.05},
	}
	got := f.Changes()
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		g := got[i]
		for _, d := range []float64{g.Accuracy - w.Accuracy, g.CCE - w.CCE, g.ACCE - w.ACCE, g.CBS - w.CBS} {
			if math.Abs(d) > 1e-12 {
				t.Errorf("%+v, want %+v", g, w)
			}
		}
		if g.Title != w.Title || g.Start != w.Start || g.Radius != w.Radius || g.OfBest != w.OfBest || g.Group != w.Group {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
}

// By hand: the ranks 1.5, 1.5, 3, 4 and 2, 1, 3, 4 have the correlation 4.5/√(4.5·5).
func TestSpearman(t *testing.T) {
	if rho := spearman([]float64{5, 5, 6, 7}, []float64{20, 10, 30, 100}); math.Abs(rho-4.5/math.Sqrt(4.5*5)) > 1e-12 {
		t.Errorf("with a tie: %v", rho)
	}
	if rho := spearman([]float64{1, 2, 3}, []float64{9, 4, 1}); math.Abs(rho+1) > 1e-12 {
		t.Errorf("opposite: %v", rho)
	}
	if rho := spearman([]float64{1, 2}, []float64{4, math.NaN()}); !math.IsNaN(rho) {
		t.Errorf("with a missing value: %v", rho)
	}
}

// On the published experiment at the radius 0.5, certified accuracy and errors rise together over the models, as in figure 19 of Emde et al. 2025, and the
// intervals say so; their figures equal the table's.
func TestRankCorrelationsOfTheExperiment(t *testing.T) {
	folder := "../../../notebooks/results/experiments/D-evidence"
	all, err := RankCorrelations(t.Context(), folder, "D/table7", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range all {
		if c.Interval != nil && (c.Rho < -1 || c.Rho > 1 || c.Interval.Low > c.Rho || c.Interval.High < c.Rho) {
			t.Errorf("%+v: %+v", c, *c.Interval)
		}
		if c.Radius != .5 || c.A != "CA" || c.B != "CCE" {
			continue
		}
		if found++; c.Models != 27 || c.Interval == nil || c.Interval.Low <= 0 {
			t.Errorf("%+v", c)
		}
	}
	if found != 1 {
		t.Errorf("%d correlations of CA and CCE at 0.5", found)
	}
	if _, err := RankCorrelations(t.Context(), "../../../notebooks/results/experiments/D", "D/table1", resample.Options{Resamples: 100}); err == nil {
		t.Error("a table of attacks has correlations")
	}

	// The value of all images, drawn again, stands in the table.
	f, err := newTableBuilder(t.Context(), folder, "D/table7", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	filled, err := f.fill()
	if err != nil {
		t.Fatal(err)
	}
	models, err := f.modelsAt(filled, 1, 0)
	if err != nil || len(models) != 27 {
		t.Fatal(len(models), err)
	}
	every := make([]int, len(models[0].images[0].Images))
	for i := range every {
		every[i] = i
	}
	for _, m := range models {
		of, err := m.drawn(.1, every)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range of {
			if math.Abs(v-m.figures[k]) > 1e-5 { // bounds are kept to six decimals
				t.Errorf("%s: %v, the table has %v", ranked[k], v, m.figures[k])
			}
		}
	}
}

// By group and severity the radii are the cells', and what is missing is said.
func TestByGroup(t *testing.T) {
	folder := "../../../notebooks/results/experiments/A"
	all, err := ByGroup(t.Context(), folder, "A/table2", 5, resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.ReadManifest(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Title != "Gaussian" || r.Group != "low" {
			continue
		}
		want := 0.0
		for _, model := range []string{"A/c10/g@1", "A/c10/g@2"} {
			radii, err := m.Radii(folder, m.Model(model))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range radii {
				if slices.Contains([]string{"brightness-5", "fog-5", "frost-5", "snow-5", "contrast-5"}, c.Set) {
					for i, v := range c.Values {
						if c.Marks[i] == "" {
							want += v / float64(10*len(c.Values))
						}
					}
				}
			}
		}
		if math.Abs(r.ACR-want) > 1e-12 || r.Interval.Low > want || r.Interval.High < want {
			t.Errorf("%+v, by hand %v", r, want)
		}
	}
	if len(all) < 40 {
		t.Errorf("%d figures of ten models and four groups", len(all))
	}
	if _, err := ByGroup(t.Context(), folder, "A/table2", 4, resample.Options{}); err == nil {
		t.Error("a severity that was not certified")
	}
}

// Figures stand beside published ones by title, or by group where the table chose models; what is not there is left open.
func TestBeside(t *testing.T) {
	f, err := Fill(t.Context(), "../../../notebooks/results/experiments/D-evidence", "D/table7", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	beside := f.Beside(map[string]map[string]float64{
		"AT":        {"CCE at 0.1": .137, "CBS at 1": .3},
		"AT, ε=0.5": {"clean": .4, "CA at 0.1": .7},
		"elsewhere": {"clean": 1},
	})
	text := ""
	for _, row := range beside.Rows {
		text += fmt.Sprintln(row...)
	}
	if want := "AT CBS at 1 – 0.3000 –\nAT CCE at 0.1 0.2189 0.1370 0.0819\n"; !strings.HasPrefix(text, want) || !strings.Contains(text, "AT, ε=0.5 clean 0.4906 0.4000 0.0906\n") || len(beside.Rows) != 4 {
		t.Errorf("%s", text)
	}
	// What is certified says with which α, and of which images.
	said := strings.Join(f.Notes, "\n")
	for _, want := range []string{"α = 0.001 for the radius of an image and again for its interval", "images whose class, right or wrong, is certified there", "abstains"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in the caption:\n%s", want, said)
		}
	}
}

// Captions of tables say that frost is drawn where they have frost, and only there.
func TestDrawnFrostIsSaid(t *testing.T) {
	for _, c := range []struct {
		folder, table string
		said          bool
	}{{"A", "A/table2", true}, {"A", "A/table3", false}, {"D-evidence", "D/table7", false}} {
		f, err := Fill(t.Context(), "../../../notebooks/results/experiments/"+c.folder, c.table, resample.Options{Resamples: 20})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Count(strings.Join(f.Notes, "\n"), shared.DrawnFrost); said != map[bool]int{true: 1}[c.said] {
			t.Errorf("%s: said %d times", c.table, said)
		}
	}
}

// A caption names the data and networks of rows that have figures, not of those that were planned.
func TestCaptionNamesWhatWasMade(t *testing.T) {
	f, err := Fill(t.Context(), "../../../notebooks/results/maps", "A/figure5", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(f.Notes, "\n")
	if !strings.Contains(said, "Networks: small-cnn;") || strings.Contains(said, "cifar100") {
		t.Errorf("%s", said)
	}
}
