package results

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
)

// handmade writes a folder of results by hand: two models of three seeds and two images, one of them in part.
func handmade(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	m := &store.Manifest{Format: 1, Tier: recipe.Tier{Name: "hand", Title: "by hand", Clean: "count=2", Corrupted: tier.CorruptedImages{Images: "count=2", Severities: []int{1, 5}}}}
	made := store.Table{Table: recipe.Table{Name: "x", Title: "X", Measure: recipe.Measures{Radii: recipe.Radius{Clean: true, Sweeps: []string{"fog"}}}}}
	for _, name := range []string{"a", "b", "c"} {
		line := recipe.Line{Title: strings.ToUpper(name), Group: name}
		for seed := range uint64(2) {
			model := fmt.Sprintf("%s@%d", name, seed+1)
			m.Models = append(m.Models, recipe.Model{Name: model, Data: "few", Test: "few/test", Recipe: modelfile.Recipe{Seed: seed + 1}})
			line.Models = append(line.Models, model)
		}
		made.Lines = append(made.Lines, line)
	}
	m.Tables = []store.Table{made}
	if err := m.Write(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "results"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a-s1": "image,label,clean,fog-1,fog-5\n3,0,0.4,0.2,x\n7,1,a,0.4,a\n",
		"a-s2": "image,label,clean,fog-1,fog-5\n3,0,0.6,0.2,0\n7,1,0.2,0.4,x\n",
		"b-s1": "image,label,clean,fog-1,fog-5\n3,0,0.5,0.5,0.1\n7,1,0.1,0.7,0.3\n",
		"c-s1": "image,label,clean,fog-1\n3,0,0.5,0.5\n7,1,0.1,0.7\n",
	} {
		testkit.Write(t, []byte(text), folder, "results", name+".csv")
	}
	return folder
}

// Means, ranges and differences of numbers that one can add up by hand.
func TestFillByHand(t *testing.T) {
	f, err := Fill(t.Context(), handmade(t), "", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Metrics) != 2 || f.Metrics[1].Name != "fog" || len(f.Metrics[1].Cells) != 2 {
		t.Fatalf("%+v", f.Metrics)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-8 }
	student := 12.706204736 * .05 // of two images that differ by .1
	clean, fog := f.Lines[0].Values[0], f.Lines[0].Values[1]
	// Seed 1: (0.4 + 0)/2; seed 2: (0.6 + 0.2)/2.
	if !near(clean.Mean, .3) || !near(clean.Low, .2) || !near(clean.High, .4) || clean.Seeds != 2 || clean.Images != 2 || clean.Difference != nil {
		t.Errorf("clean of A: %+v", clean)
	}
	// Both seeds: ((0.2 + 0.4)/2 + 0)/2; image 3 has 0.1, image 7 has 0.2.
	if !near(fog.Mean, .15) || !near(fog.Low, .15) || fog.Interval.Low != 0 || !near(fog.Interval.High, .15+student) {
		t.Errorf("fog of A: %+v", fog)
	}
	b := f.Lines[1].Values
	if b[0].Seeds != 1 || !near(b[1].Mean, .4) || !near(b[1].Difference.Difference, .25) ||
		!near(b[1].Difference.Interval.Low, .25-student) || !near(b[1].Difference.Interval.High, .25+student) ||
		b[1].Difference.Starts != 1 {
		t.Errorf("B: %+v, %+v", b[1], b[1].Difference)
	}
	// B has the first seed only, in which A has (0.4 + 0)/2.
	if d := b[0].Difference; !near(d.A, .2) || !near(d.B, .3) || !near(d.Difference, .1) {
		t.Errorf("clean of B − A: %+v", d)
	}
	if c := f.Lines[2].Values; c[0] == nil || c[1] != nil { // fog-5 is missing
		t.Errorf("C: %+v", c)
	}
	text := f.Tables()[0].CSV()
	if !strings.Contains(text, "C,0.3,–\n") {
		t.Errorf("%s", text)
	}
}

// The mean at the greatest severity stands alone where there are others.
func TestGreatestSeverity(t *testing.T) {
	for severities, want := range map[[2]int]int{{3, 5}: 15, {5, 5}: 0, {1, 3}: 0} {
		made := recipe.Tier{Clean: "count=2", Corrupted: tier.CorruptedImages{Images: "count=2", Severities: severities[:]}}
		measure := recipe.Radius{Sweeps: []string{"C"}}
		cells, err := made.Cells(measure)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, m := range tier.Means(measure, cells) {
			if m.Name == "C severity 5" {
				found = m.Cells
			}
		}
		if len(found) != want || slices.ContainsFunc(found, func(cell string) bool { return !strings.HasSuffix(cell, "-5") }) {
			t.Errorf("severities %v: %q", severities, found)
		}
	}
}

func TestRadiiOfAModel(t *testing.T) {
	folder := handmade(t)
	m, err := store.ReadManifest(folder)
	if err != nil {
		t.Fatal(err)
	}
	radii, err := m.Radii(folder, m.Model("b@1"))
	if err != nil || len(radii) != 3 || radii[2].Set != "fog-5" || radii[2].Network != "b@1" {
		t.Errorf("%v, %v", radii, err)
	}
	if of := m.Model("d@1"); of != nil {
		t.Errorf("%v", of)
	}
}

// Models of one engine do not make it several.
func TestEnginesInTheCaption(t *testing.T) {
	folder := handmade(t)
	for name, engine := range map[string]string{"a-s1": "onnxruntime 1.31.1 cpu, graph 015ea41ad3725f33, amd64/avx512", "b-s1": "onnxruntime 1.31.1 cpu, graph 04554fb718db55e9, amd64/avx512", "c-s1": "go 1.0, "} {
		if err := store.WriteJSON(filepath.Join(folder, "results", name+".json"), store.Origin{Certified: []string{engine}}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Fill(t.Context(), folder, "", resample.Options{Resamples: 10})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(f.Notes, "Certified on go 1.0, ; onnxruntime 1.31.1 cpu, amd64/avx512.") {
		t.Errorf("%q", f.Notes)
	}
}

// The published rule: at most three points below the best accuracy of all, whatever the method (certified-calibration §9.6).
func TestSelected(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	at := func(accuracy, cce, acce, cbs float64) []*measure.RadiusErrors {
		return []*measure.RadiusErrors{{Radius: .1, Certified: 9, Accuracy: accuracy, CCE: v(cce), ACCE: v(acce), CBS: v(cbs)}, {Radius: 1}}
	}
	lines := []FilledLine{
		{Group: "AT", Calibration: at(.80, .30, .25, .20)}, {Group: "AT", Calibration: at(.795, .35, .22, .30)}, {Group: "AT", Calibration: at(.78, .10, .10, .10)},
		{Group: "ACT", Calibration: at(.82, .50, .40, .40)}, {Group: "lost", Calibration: at(.5, .01, .01, .01)},
		{Group: "open", Calibration: []*measure.RadiusErrors{nil, nil}},
	}
	got, err := selected(lines, &measure.Calibration{Radii: []float64{.1, 1}, Within: .03})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Best != .82 || got[0].Models != 2 || *got[0].CCE != .30 || *got[0].ACCE != .22 || *got[0].CBS != .20 || *got[1].CCE != .50 || got[2].Models != 0 || got[2].CCE != nil {
		t.Errorf("%+v", got)
	}
}

// Damaged results are said, not skipped.
func TestDamagedResults(t *testing.T) {
	for text, want := range map[string]string{
		"image,label\n":                       "first line",
		"image,label,clean\n3,0,-1\n":         `"-1" in clean`,
		"image,label,clean\n3,0,NaN\n":        `"NaN" in clean`,
		"image,label,clean\n3,0,1\n3,0,1\n":   "ascending",
		"image,label,clean,clean\n3,0,1,1\n":  "twice",
		"image,label,clean\n3,0\n":            "wrong number of fields",
		"image,label,clean,fog-1\n3,0,0.5,\n": "empty",
		"image,label,clean\n3,-1,0.5\n":       "ascending numbers",
	} {
		folder := handmade(t)
		testkit.Write(t, []byte(text), folder, "results", "a-s1.csv")
		if _, err := Fill(t.Context(), folder, "", resample.Options{Resamples: 10}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a-s1.csv") {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
	folder := handmade(t)
	if _, err := Fill(t.Context(), folder, "y", resample.Options{}); err == nil || !strings.Contains(err.Error(), `no table "y"`) {
		t.Errorf("%v", err)
	}
}

// Lines of another σ are not compared, since the difference may be that of σ: a note says so.
func TestLinesOfAnotherNoise(t *testing.T) {
	folder := handmade(t)
	m, err := store.ReadManifest(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Models {
		sigma := .25
		switch m.Models[i].Name {
		case "b@1", "b@2":
			sigma = .5
		case "c@1", "c@2":
			sigma, m.Models[i].File = 0, "c.safetensors" // certified at the σ of its card
		}
		m.Models[i].Sigma = &sigma
	}
	if err := m.Write(folder); err != nil {
		t.Fatal(err)
	}
	f, err := Fill(t.Context(), folder, "", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	if f.Lines[1].Values[0].Difference != nil || f.Lines[2].Values[0].Difference == nil {
		t.Errorf("B − A: %+v, C − A: %+v", f.Lines[1].Values[0].Difference, f.Lines[2].Values[0].Difference)
	}
	if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, "clean, B: not compared with A, as settings differ: σ 0.25, 0.5.") || strings.Contains(notes, "C: not compared") {
		t.Error(notes)
	}
}
