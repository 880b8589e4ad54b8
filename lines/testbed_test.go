package lines

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

func testbed(t testing.TB) Models {
	t.Helper()
	folder := os.Getenv("CERTSPEC_DATA")
	if folder == "" {
		t.Skip("CERTSPEC_DATA is not set: it names the folder with imagenet-testbed/robustness_top1s.csv")
	}
	models, err := Read(filepath.Join(folder, "imagenet-testbed", "robustness_top1s.csv"), CSV{})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

func TestTestbedFile(t *testing.T) {
	models := testbed(t)
	groups := map[string]int{}
	cells := 0
	for _, m := range models {
		groups[m.Labels["group"]]++
		for field := range m.Accuracies {
			if !slices.Contains([]string{"contrast", "defocus_blur"}, field) {
				cells++
			}
		}
	}
	if len(models) != 338 || groups["torchvision"] != 28 || groups["robustness"] != 5 || groups["clip"] != 2 {
		t.Errorf("%d models, %v; the file has 338, of which 28, 5 and 2 are of those groups", len(models), groups)
	}
	text := testkit.Read(t, os.Getenv("CERTSPEC_DATA"), "imagenet-testbed", "robustness_top1s.csv")
	blank, joined := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		for _, cell := range strings.Split(strings.TrimRight(line, "\r"), ",") {
			if cell == "" {
				blank++
			}
		}
	}
	for _, field := range models.Fields() {
		if !strings.Contains(string(text[:strings.IndexByte(string(text), '\n')]), field) {
			joined++ // cannot happen: the joined names are parts of column names
		}
	}
	if blank != 26_220 || joined != 0 {
		t.Errorf("%d blank cells in the text, want 26,220", blank)
	}
}

// The pooled lines of the testbed, to four decimals, and the effective robustness of two zero-shot models above the line
// of the 28, to a hundredth of a point.
func TestImageNetLines(t *testing.T) {
	models := testbed(t)
	clip := Clip{Share: 0.0005}
	groups := map[string][]string{
		"28":   torchvision28,
		"28+5": slices.Concat(torchvision28, robustness5),
		"30+5": slices.Concat(torchvision28, robustness5, []string{"shufflenet_v2_x0_5", "mnasnet0_5"}),
	}
	fit := func(group, shift string) Line {
		var kept Models
		for _, m := range models {
			if slices.Contains(groups[group], m.Name) {
				kept = append(kept, m)
			}
		}
		kept = thousandths(kept)
		x, y, _, err := points(kept, "val", shift, clip)
		if err != nil || len(x) != len(groups[group]) {
			t.Fatalf("%s, %s: %d models, %v", group, shift, len(x), err)
		}
		l, err := LeastSquares(x, y)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	rows := oracle(t, "imagenet.csv")
	if len(rows) != 24 {
		t.Fatalf("%d lines in the oracle", len(rows))
	}
	for _, row := range rows {
		l := fit(row[1], row[0])
		if !near(l.Slope, row[2], 4) || !near(l.Intercept, row[3], 4) || !near(l.R2, row[4], 4) {
			t.Errorf("%v: %.4f / %.4f / %.4f", row, l.Slope, l.Intercept, l.R2)
		}
	}
	for name, want := range map[string][]float64{
		"vit_b_32_clip_zeroshot": {5.59, 44.26, 23.93, 30.06, 28.70},
		"resnet50_clip_zeroshot": {5.79, 38.02, 23.31, 21.75, 23.78},
	} {
		i := slices.IndexFunc(models, func(m Model) bool { return m.Name == name })
		for k, shift := range []string{"imagenetv2", "imagenet-r", "objectnet", "imagenet-a", "imagenet-sketch"} {
			e, err := EffectiveRobustness(fit("28", shift), models[i].Accuracies["val"], models[i].Accuracies[shift], clip)
			if err != nil || math.Abs(100*e.Accuracy-want[k]) > 0.0051 {
				t.Errorf("%s on %s: %.3f points, %v; expected %.2f", name, shift, 100*e.Accuracy, err, want[k])
			}
		}
	}
}

// thousandths rounds accuracies to a thousandth of a percent: the oracle was computed from a table printed so.
func thousandths(models Models) Models {
	out := slices.Clone(models)
	for i, m := range out {
		out[i].Accuracies = map[string]Accuracy{}
		for field, a := range m.Accuracies {
			a.Share = math.Round(a.Share*1e5) / 1e5
			out[i].Accuracies[field] = a
		}
	}
	return out
}

func TestTestbedRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "not the ImageNet testbed",
		"name,val\n":               "not the ImageNet testbed",
		"model,val\nx,abc\n":       "line 2: val: \"abc\" is no number",
		"model,val\nx,101\n":       "percentage",
		"model,val\nx,50,3\n":      "wrong number of fields",
		"model,val\nx,50\ny,NaN\n": "line 3",
		"model,val\nx,50\nx,60\n":  "twice",
	} {
		models, err := readTestbed("t.csv", strings.NewReader(text))
		if err == nil {
			err = models.Check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
	var field *FieldError
	if _, err := readTestbed("t.csv", strings.NewReader("model,val\nx,abc\n")); !errors.As(err, &field) || field.Line != 2 {
		t.Errorf("%v", err)
	}
}
