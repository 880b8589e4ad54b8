package lines

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/lines/classfile"
	"github.com/certspec/certspec/internal/testkit"
)

// What is written is read again; severities are pooled in order; labels are no model; a list of CIFAR-10.1's form is read.
func TestPredictionFolders(t *testing.T) {
	folder := t.TempDir()
	for _, severity := range []string{"1", "3"} {
		for _, model := range []string{"a", "b"} {
			p := Predictions{Model: model, Classes: []int{0, 1, -1, len(severity + model)}, Card: &PredictionCard{Model: model, Digest: "sha256:1", IDs: "0:4:1"}}
			if err := p.Write(filepath.Join(folder, severity)); err != nil {
				t.Fatal(err)
			}
		}
		if err := classfile.Write(filepath.Join(folder, severity, classfile.Labels), []int{0, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ReadPredictions(folder)
	if err != nil || len(all) != 2 || !slices.Equal(all[1].Classes, []int{0, 1, -1, 2, 0, 1, -1, 2}) || all[0].Card.Digest != "sha256:1" {
		t.Fatalf("%+v, %v", all, err)
	}
	write := func(name, text string) {
		t.Helper()
		testkit.Write(t, []byte(text), folder, "1", name)
	}
	for text, want := range map[string]string{"[1, 2, 3]": "has 4 predictions, and c 3", "[1, 2": "neither a .npy file nor a list", "[1.5]": "neither", "\x93NUMPY\x01": "1/c.json"} {
		write("c.json", text)
		if _, err := ReadPredictions(filepath.Join(folder, "1")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
	write("c.json", "[3, 2, 1, 0]")
	if all, err = ReadPredictions(filepath.Join(folder, "1")); err != nil || len(all) != 3 || all[2].Classes[0] != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := ReadPredictions(folder); err == nil || !strings.Contains(err.Error(), "3 models, and") {
		t.Errorf("a severity without a model: %v", err)
	}
	write("a.json", `{"model":"a","digest":"sha256:2","ids":"0:4:1"}`)
	if _, err := ReadPredictions(filepath.Join(folder, "1")); err == nil || !strings.Contains(err.Error(), "sha256:2") {
		t.Errorf("predictions of other images: %v", err)
	}
	if _, err := Match(all[:2], all[1:]); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("%v", err)
	}
}

// Of classifiers on a line, the intervals of the estimates hold the estimate that infinitely many images would give. 60 sets of
// images and 95 % intervals: with coverage 0.95, fewer than 50 hits have probability below 1e-3.
func TestAgreementIntervalsCover(t *testing.T) {
	const models, n, m, sets = 4, 400, 300, 60
	skill := []float64{0.5, 0.8, 1.1, 1.4}
	draw := func(rng *rand.Rand, images int, drop float64) (p []Predictions, labels []int) {
		labels = make([]int, images)
		p = make([]Predictions, models)
		for range images {
			hard := rng.NormFloat64() // shared: models err together
			for k := range p {
				class := 0
				if skill[k]-drop < 0.8*hard+0.6*rng.NormFloat64() {
					class = 1 + rng.IntN(2)
				}
				p[k].Classes = append(p[k].Classes, class)
				p[k].Model = string(rune('a' + k))
			}
		}
		return p, labels
	}
	rng := rand.New(rand.NewPCG(3, 1))
	largeID, labels := draw(rng, 200_000, 0)
	largeShifted, _ := draw(rng, 200_000, 0.5)
	truth, err := agree(largeID, largeShifted, labels, nil, Clip{})
	if err != nil {
		t.Fatal(err)
	}
	hitsS, hitsD := 0, 0
	for range sets {
		id, labels := draw(rng, n, 0)
		shifted, _ := draw(rng, m, 0.5)
		a, err := Agree(t.Context(), id, shifted, labels, nil, AgreeOptions{Resamples: 200})
		if err != nil {
			t.Fatal(err)
		}
		if a.Models[2].SInterval.Contains(truth.Models[2].S) {
			hitsS++
		}
		if a.Models[2].DInterval.Contains(truth.Models[2].D) {
			hitsD++
		}
	}
	if hitsS < 50 || hitsD < 50 {
		t.Errorf("of %d intervals, %d (ALine-S) and %d (ALine-D) hold the truth", sets, hitsS, hitsD)
	}
	if math.Abs(truth.Models[2].S-truth.Models[2].D) > 0.1 {
		t.Errorf("%+v", truth.Models)
	}
}
