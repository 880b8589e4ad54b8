package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Two models share a table, which "lines fit" reads; predictions of three are what "lines agree" reads.
func TestEvaluate(t *testing.T) {
	folder := t.TempDir()
	table, predictions := filepath.Join(folder, "acc.csv"), filepath.Join(folder, "preds")
	evaluate := func(args ...string) (string, error) {
		return outputOf(t, "evaluate", append([]string{"--model", "../../notebooks/models/cifar10-resnet20-s025", "--data", "synthetic/test", "--count", "4", "--batch", "4", "--engine", "go"}, args...)...)
	}
	for _, name := range []string{"a", "b", "c"} {
		if out, err := evaluate("--corrupt", "High", "--severity", "1", "--out", table, "--predictions", predictions, "--name", name, "--label", "group="+name); err != nil || !strings.Contains(out, "High") {
			t.Fatalf("%v, %s", err, out)
		}
	}
	text, err := os.ReadFile(table)
	if err != nil || !strings.HasPrefix(string(text), "model,group,clean,gaussian_noise,") || strings.Count(string(text), "\n") != 4 || !strings.Contains(string(text), "/20\n") {
		t.Fatalf("%v, %s", err, text)
	}
	// Equal models have one accuracy: both verbs read the files, and say that there is no line.
	if _, err := outputOf(t, "lines", "fit", "--in", table, "--x", "clean", "--y", "High"); err == nil || !strings.Contains(err.Error(), "same x") {
		t.Errorf("%v", err)
	}
	if _, err := outputOf(t, "lines", "agree", "--id", predictions+"/clean", "--shifted", predictions+"/pixelate"); err == nil || !strings.Contains(err.Error(), "same x") {
		t.Errorf("%v", err)
	}
	groups := testkit.Write(t, []byte("nothing 3\n"), folder, "groups")
	for args, want := range map[string]string{
		"--corrupt fgo":      "fog",
		"--severity 1":       "--severity without --corrupt",
		"--label group":      "label=value",
		"--groups " + groups: `no class "nothing"`,
		"--name a/b":         "without a slash",
	} {
		if _, err := evaluate(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", args, err, want)
		}
	}
}
