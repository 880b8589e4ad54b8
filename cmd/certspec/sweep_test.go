package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/corrupt/shared"
)

// The model answers by the mean of an image, which brightness raises.
func TestSweep(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a sweep")
	args := []string{"sweep", "--exec", childModel("good"), "--data", "synthetic/test[max_index=3]", "--sigma", "0.25", "--n", "200",
		"--corrupt", "contrast,brightness", "--severity", "1,3", "--out", folder}
	for range 2 { // the second time all are there
		cmd, stdout, stderr := program(t, args...)
		if err := cmd.Run(); err != nil || strings.Count(stdout.String(), ".ledger\n") != 5 {
			t.Fatalf("%v: %s%s", err, stdout, stderr)
		}
	}
	got := jsonOf(t, "ledger", "metrics", folder, "--json")
	if got["clean_acr"] == nil || got["images"] != 3. || len(got["corruptions"].([]any)) != 2 {
		t.Errorf("%v", got)
	}
	got = jsonOf(t, "ledger", "metrics", folder, "--against", "clean", "--json")
	macr := got["macr"].(map[string]any)
	if d := macr["difference"].(float64) - (macr["b"].(float64) - macr["a"].(float64)); got["a"] != folder+", clean" || d > 1e-12 || d < -1e-12 {
		t.Errorf("%v", got)
	}
	if got = jsonOf(t, "ledger", "compare", folder, folder, "--json"); got["macr"].(map[string]any)["difference"] != 0. {
		t.Errorf("a sweep differs from itself: %v", got["macr"])
	}
	if text, code := output(t, "ledger", "metrics", folder, "--format", "latex"); code != 0 || !strings.Contains(text, `\toprule`) || !strings.Contains(text, "mACR &") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for _, asked := range [][]string{{"metrics", folder}, {"metrics", folder, "--against", "clean"}, {"compare", folder, folder}} {
		for format, want := range map[string]string{
			"markdown": "| brightness | 1, 3 |", "latex": "brightness & 1, 3 &", "text": "│ brightness │ 1, 3 ", "csv": "brightness,0",
		} {
			args := append([]string{"ledger", "--format", format}, asked...)
			if text, code := output(t, args...); code != 0 || !strings.Contains(text, want) {
				t.Errorf("%v: exit code %d; expected %q in:\n%s", args, code, want, text)
			}
		}
	}
	for of, drawn := range map[string]bool{folder: false, "../../notebooks/results/cifar10-resnet20-s025-C": true} {
		if text, _ := output(t, "ledger", "metrics", of); strings.Contains(text, shared.DrawnFrost) != drawn {
			t.Errorf("drawn frost is said or not:\n%s", text)
		}
	}
	if text, _ := output(t, "ledger", "metrics", folder); !strings.Contains(text, "| clean | – |") {
		t.Errorf("the clean images have a severity:\n%s", text)
	}
	if err := os.Remove(filepath.Join(folder, "clean.ledger")); err != nil {
		t.Fatal(err)
	}
	if _, code := output(t, "ledger", "metrics", folder, "--against", "clean"); code != cli.ExitFailed {
		t.Errorf("without a clean run: exit code %d", code)
	}
}

func TestSweepOfBadInput(t *testing.T) {
	run := []string{"sweep", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--out", t.TempDir()}
	for _, more := range [][]string{
		{"--corrupt", "fogg"}, {"--severity", "6"}, {"--severity", "0"}, {"--corrupt", "F", "--severity", "3"}, {"--rule", "none"}, {"--n", "0"},
	} {
		if text, code := output(t, append(run, more...)...); code != cli.ExitUsage || text != "" {
			t.Errorf("%v: exit code %d: %s", more, code, text)
		}
	}
	for _, args := range [][]string{
		{"ledger", "metrics", "..", ".."}, {"ledger", "metrics", "x.ledger", "--against", "clean"}, {"sweep"},
		{"ledger", "metrics", "..", "--resamples", "0"}, {"ledger", "metrics", "..", "--cap", "1"}, {"ledger", "compare", "..", "..", "--radii", "0"},
		{"certify", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--severity", "3"},
		{"certify", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--corrupt", "fog"},
		{"certify", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--corrupt", "fog:3", "--severity", "3"},
		{"certify", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--corrupt", "fogg:3"},
	} {
		if text, code := output(t, args...); code != cli.ExitUsage || text != "" {
			t.Errorf("%v: exit code %d: %s", args, code, text)
		}
	}
	if _, code := output(t, "ledger", "metrics", t.TempDir()); code != cli.ExitFailed {
		t.Errorf("an empty folder: exit code %d", code)
	}
}
