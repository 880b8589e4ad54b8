package main

import (
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// The model sees the mean of an image alone. On a phase path that stays what it is (lens spec, oracle 9), so that no class and no score
// changes; an amplitude path leads it straight from one image's to the other's.
func TestSpectralPath(t *testing.T) {
	got := jsonOf(t, "spectral", "path", "--exec", childModel("scores"), "--data", "synthetic/test[max_index=12]", "--pairs", "5", "--points", "20", "--json")
	paths := got["paths"].([]any)
	if len(paths) != 2 || got["points"] != 20. || got["normalization"] != "none" || got["last_bin"] != "drop" {
		t.Fatalf("%v", got)
	}
	amplitude, phase := paths[0].(map[string]any), paths[1].(map[string]any)
	mean := func(of map[string]any, what string) float64 { return of[what].(map[string]any)["mean"].(float64) }
	if phase["kind"] != "phase" || phase["paths"] != 5. || mean(phase, "hff") > 1e-4 || mean(phase, "cd") != 20 {
		t.Errorf("%v", phase)
	}
	// A score that goes once and smoothly from one class towards another has .27 to .31 of its amplitude above the line where it changes all
	// the way (lens spec, oracle 14), and less where it changes little.
	if hff := mean(amplitude, "hff"); amplitude["kind"] != "amplitude" || amplitude["paths"] != 5. || hff < .005 || hff > .35 {
		t.Errorf("%v", amplitude)
	}
	got = jsonOf(t, "spectral", "path", "--kind", "pixel", "--normalization", "cifar10", "--exec", childModel("scores"), "--data", "synthetic/test[max_index=40]", "--pairs", "1", "--json")
	paths = got["paths"].([]any)
	within, between := paths[0].(map[string]any), paths[1].(map[string]any)
	if within["kind"] != "pixel within" || within["paths"] != 10. || between["paths"] != 45. || within["cd"] != nil {
		t.Errorf("%v, %v", within, between)
	}
}

func TestSpectralPathOfBadInput(t *testing.T) {
	all := []string{"spectral", "path", "--exec", childModel("scores"), "--data", "synthetic/test[max_index=4]"}
	for _, more := range [][]string{
		{"--kind", "sound"}, {"--kind", "phase,phase"}, {"--pairs", "0"}, {"--pairs", "3"}, {"--points", "3"}, {"--window", "0"}, {"--window", "0.6"}, {"--window", "NaN"},
		{"--mask", "round"}, {"--wrap", "long"}, {"--last-bin", "half"}, {"--normalization", "mnist"}, {"--batch", "0"}, {"--kind", "pixel"},
	} {
		if text, code := output(t, append(all, more...)...); code != cli.ExitUsage || text != "" {
			t.Errorf("%v: exit code %d: %s", more, code, text)
		}
	}
	if text, code := output(t, "spectral", "path", "--exec", childModel("good"), "--data", "synthetic/test[max_index=4]"); code != cli.ExitFailed || text != "" {
		t.Errorf("a model without scores: exit code %d: %s", code, text)
	}
}
