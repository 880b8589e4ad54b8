package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

func TestReport(t *testing.T) {
	const file = "../../notebooks/results/quickstart.ledger"
	dir := t.TempDir()
	for name, begin := range map[string]string{"r.html": "<!DOCTYPE html>", "r.md": "# Certification of fmnist-cnn-s025", "r.tex": `\documentclass`} {
		path := filepath.Join(dir, name)
		if text, code := output(t, "report", file, "-o", path); code != 0 || text != "" {
			t.Errorf("%s: exit code %d, %q", name, code, text)
		}
		if got, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(got), begin) || !strings.Contains(string(got), "0.8540") {
			t.Errorf("%s: %v: %.200s", name, err, got)
		}
	}
	if text, code := output(t, "report", file, "--format", "latex"); code != 0 || !strings.HasPrefix(text, `\documentclass`) {
		t.Errorf("exit code %d: %.200s", code, text)
	}
	text, code := output(t, "report", file, "--json", "--simultaneous", "--radii", "0.5")
	var got struct {
		Simultaneous      bool
		Alpha             float64
		CertifiedAccuracy []struct {
			Radius float64
			Count  int
		} `json:"certified_accuracy"`
	}
	// The count is SciPy's: see the test of rs.OpenAt.
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 || !got.Simultaneous || got.Alpha != .001/500 || len(got.CertifiedAccuracy) != 1 || got.CertifiedAccuracy[0].Count != 336 {
		t.Errorf("exit code %d, %v: %.400s", code, err, text)
	}
	for want, all := range map[int][][]string{
		cli.ExitUsage: {{}, {file, file}, {file, "--format", "pdf"}, {file, "-o", "x.pdf"}, {file, "--radii", "nan"}, {file, "--radii", "-1"},
			{file, "--confidence", "1"}, {file, "--confidence", "0"}, {file, "--confidence", "nan"}},
		cli.ExitFailed: {{"missing.ledger"}, {"report_test.go"}},
	} {
		for _, args := range all {
			if text, code := output(t, append([]string{"report"}, args...)...); code != want || text != "" {
				t.Errorf("%q: exit code %d, want %d: %.100s", args, code, want, text)
			}
		}
	}
}
