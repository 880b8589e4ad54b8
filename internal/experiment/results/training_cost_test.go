package results

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/certspec/certspec/resample"
)

// The committed networks from scratch: Gaussian+JSD took 30 epochs of two noises; its certified
// accuracy is counted again in the file of its radii. Fine-tuning goes on after the start's 30.
func TestTrainingCosts(t *testing.T) {
	t.Chdir("../../..")
	const scratch, evidence = "notebooks/results/experiments/A-scratch", "notebooks/results/experiments/A-evidence"
	o := resample.Options{Resamples: 200}
	got, err := TrainingCosts(t.Context(), []TableAt{{scratch, "sun2021/scratch-methods"},
		{evidence, "sun2021/table2"}, {evidence, "sun2021/table8"}}, 0.25, o)
	if err != nil {
		t.Fatal(err)
	}
	find := func(title, tier string) *TrainingCost {
		at := slices.IndexFunc(got.Lines, func(l TrainingCost) bool { return l.Title == title && l.Tier == tier })
		if at < 0 {
			t.Fatalf("no %s of tier %s in %+v", title, tier, got.Lines)
		}
		return &got.Lines[at]
	}
	for _, w := range []struct {
		title, tier string
		passes      float64
	}{{"Gaussian", "scratch", 30}, {"Gaussian+JSD", "scratch", 60}, {"Gaussian", "evidence", 36},
		{"SmoothAdv", "evidence", 36}} {
		if l := find(w.title, w.tier); l.Passes != w.passes {
			t.Errorf("%s, %s: %v passes, expected %v", w.title, w.tier, l.Passes, w.passes)
		}
	}
	file, err := os.Open(scratch + "/results/A-c10-g-jsd-s1.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	certified := 0.
	for _, cell := range got.Cells {
		column := slices.Index(rows[0], cell)
		for _, row := range rows[1:] {
			if radius, err := strconv.ParseFloat(row[column], 64); err == nil && radius >= 0.25 {
				certified += 1 / float64(len(got.Cells)*(len(rows)-1))
			}
		}
	}
	if l := find("Gaussian+JSD", "scratch"); len(got.Cells) != 3 || got.Images != len(rows)-1 ||
		math.Abs(l.Accuracy-certified) > 1e-9 || l.Interval.Low >= certified || l.Interval.High <= certified {
		t.Errorf("%d cells, %d images, %+v; expected the certified accuracy %v", len(got.Cells), got.Images, l, certified)
	}
	// At tier cpu fewer images are corrupted than clean: of the 300 there are those that are every 100th, too.
	both, err := TrainingCosts(t.Context(), []TableAt{{scratch, "sun2021/scratch-methods"},
		{"notebooks/results/experiments/A", "sun2021/table2"}}, 0.25, o)
	shared := slices.DeleteFunc(rows[1:], func(row []string) bool {
		image, err := strconv.Atoi(row[0])
		return err != nil || image%100 != 0
	})
	if err != nil || both.Images != len(shared) {
		t.Errorf("%+v, %v; expected %d images in common", both, err, len(shared))
	}
	if _, err := TrainingCosts(t.Context(), []TableAt{{scratch, "fridovich2022/table1"}}, 0.25, o); err == nil {
		t.Error("no error for a table of another study")
	}
}
