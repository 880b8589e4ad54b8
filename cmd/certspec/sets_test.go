package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"
)

// Sets of a model with known answers: levels and numbers equal the derived ones, coverage is near the level,
// and too few images give all classes.
func TestPredictionSets(t *testing.T) {
	model := childModel("scores")
	if _, code := output(t, "calib", "sets", "--exec", childModel("means"), "--data", "synthetic/test[max_index=20]", "--sigma", "0.25"); code == 0 {
		t.Error("a model without scores is taken")
	}
	for _, bad := range [][]string{
		{"--miscoverage", "1.5"}, {"--calibrate", "0"}, {"--radii", "-1"}, {"--attacked", filepath.Join(t.TempDir(), "none.json")},
	} {
		if _, code := output(t, append([]string{"calib", "sets", "--exec", model, "--data", "synthetic/test[max_index=20]", "--sigma", "0.25"}, bad...)...); code == 0 {
			t.Errorf("%v is taken", bad)
		}
	}
	text, code := output(t, "calib", "sets", "--exec", model, "--data", "synthetic/test[max_index=60]", "--sigma", "0.25", "--seed", "1", "--calibrate", "30", "--radii", "0,0.125,0.25", "--json")
	var p struct {
		Calibration, Test, Classes int
		Fresh                      bool `json:"fresh_noise"`
		Radii                      []struct {
			Level     float64
			Needed    int
			Threshold *float64
			Clean     struct {
				Size     float64 `json:"mean_size"`
				Coverage float64
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || code != 0 || len(p.Radii) != 3 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	if p.Calibration != 30 || p.Test != 30 || p.Fresh || math.Abs(p.Radii[1].Level-.96259) > 1e-5 || p.Radii[1].Needed != 26 || p.Radii[2].Needed != 88 {
		t.Errorf("%+v", p)
	}
	if last := p.Radii[2]; last.Threshold != nil || last.Clean.Size != float64(p.Classes) || last.Clean.Coverage != 1 {
		t.Errorf("too few calibration images: %+v", last)
	}
}
