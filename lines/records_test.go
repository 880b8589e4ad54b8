package lines

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

func TestRecordsRoundTrip(t *testing.T) {
	models := Models{
		{Name: "a", Labels: map[string]string{"architecture": "vgg16"}, Accuracies: map[string]Accuracy{"clean": {0.875, 1000}, "fog": {0.5, 0}}, Numbers: map[string]float64{"jacobian_norm": 3.5}},
		{Name: "b", Labels: map[string]string{"architecture": "conv8"}, Accuracies: map[string]Accuracy{"clean": {0.75, 1000}}, Numbers: map[string]float64{}},
	}
	var text strings.Builder
	for _, m := range models {
		line, err := json.Marshal(m.Record())
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	got, err := readRecords("t.jsonl", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	got[1].Numbers = map[string]float64{}
	if !reflect.DeepEqual(got, models) {
		t.Errorf("got %+v\nwant %+v", got, models)
	}
}

func TestReadRecordsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "no records",
		"{\"model\":\"a\"}\n{\"modell\":1}\n": "line 2: unknown key \"modell\"; did you mean \"model\"?",
		"{\"model\":\"a\"":                    "line 1: the record is cut off",
		"{\"model\":\"a\",\"percent\":{\"c\":\"9\"}}":                              "line 1: percent: string, want numbers by name",
		"{\"model\":\"a\"} {\"model\":\"b\"}\n":                                    "line 1: something stands behind the record: \"{\\\"model\\\":\\\"b\\\"}\"",
		"{\"model\":\"a\",\"percent\":{\"c\":140}}\n":                              "between 0 and 100",
		"{\"model\":\"a\",\"percent\":{\"clean\":40},\"images\":{\"claen\":10}}\n": "did you mean \"clean\"",
		"{\"model\":\"a\"}\n{\"model\":\"a\"}\n":                                   "line 2: model: \"a\" stands twice, first in line 1",
		"{\"percent\":{\"c\":40}}\n":                                               "without a name",
	} {
		models, err := readRecords("t.jsonl", strings.NewReader(text))
		if err == nil {
			err = models.Check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}

func TestRobustBench(t *testing.T) {
	text := ",fog,fog,snow,snow\n,1,2,1,2\nStandard,0.5,0.25,1,0.75\nAugMix,0.75,0.75,0,0.5\n"
	models, err := readRobustBench("t.csv", strings.NewReader(text), 100)
	if err != nil {
		t.Fatal(err)
	}
	if got := models[0].Accuracies["fog"]; got != (Accuracy{0.375, 200}) {
		t.Errorf("fog: %v", got)
	}
	if got := models[1].Accuracies["mean"]; got.N != 400 || math.Abs(got.Share-0.5) > 1e-12 {
		t.Errorf("mean: %v", got)
	}
	for text, want := range map[string]string{
		"":                      "not RobustBench",
		"model,fog\nx,1\ny,1\n": "not RobustBench",
		",fog\n,1\na,55\n":      "line 3: fog: \"55\"",
		",fog\n,1\na,\n":        "line 3: fog",
		",fog\n,1\na,0.5,0.5\n": "wrong number of fields",
	} {
		if _, err := readRobustBench("t.csv", strings.NewReader(text), 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}

func FuzzReadRecords(f *testing.F) {
	f.Add("{\"model\":\"a\",\"percent\":{\"c\":40}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if models, err := readRecords("t", strings.NewReader(text)); err == nil && len(models) == 0 {
			t.Error("no records and no error")
		}
	})
}

// A record of the same model is replaced in its place; another is added; a torn last line is dropped.
func TestPutRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	for _, r := range []Record{{Model: "a", Percent: map[string]float64{"x": 50}}, {Model: "b"}, {Model: "a", Percent: map[string]float64{"x": 60}}} {
		if err := PutRecord(path, r); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := os.ReadFile(path)
	testkit.Write(t, append(text, `{"model":"c","per`...), path)
	if err := PutRecord(path, Record{Model: "d"}); err != nil {
		t.Fatal(err)
	}
	models, err := Read(path, CSV{})
	if err != nil || len(models) != 3 || models[0].Name != "a" || models[0].Accuracies["x"].Share != 0.6 || models[2].Name != "d" {
		t.Errorf("%+v, %v", models, err)
	}
	if err := PutRecord(path, Record{Model: "e", Percent: map[string]float64{"x": 101}}); err == nil {
		t.Error("101 percent")
	}
}
