package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
)

// scoredLedger certifies six greys with a linear model and keeps the scores; one label is wrong.
func scoredLedger(t *testing.T) string {
	t.Helper()
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	im := &dataset.Images{Name: "greys", Shape: shape, Digest: "sha256:greys"}
	for i, v := range []uint8{0, 60, 140, 190, 220, 255} {
		im.IDs, im.Pixels = append(im.IDs, i), append(im.Pixels, v)
		im.Labels = append(im.Labels, min(1, i/3))
	}
	im.Labels[5] = 0
	path := filepath.Join(t.TempDir(), "scored.ledger")
	model := classifier.Linear{Shape: shape, Weights: []float64{6}, Bias: -3}
	_, err := rs.Certify(t.Context(), model, fixedImages{images: im}, rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 2000, Scores: 100, Ledger: path})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCalibOfALedger(t *testing.T) {
	path := scoredLedger(t)
	const radii = "0,0.2,0.3,0.7"
	of := func(verb string, args ...string) (all []map[string]any) {
		t.Helper()
		text, code := output(t, append([]string{"calib", verb, "--ledger", path, "--radii", radii, "--json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &all); err != nil || code != 0 || len(all) != 4 {
			t.Fatalf("%s: exit code %d, %v: %s", verb, code, err, text)
		}
		return all
	}
	for spending, alpha := range map[confidence.Spending]string{"paper": "0.999", "split": "0.999", "family": "at once with probability at least 0.999"} {
		want, err := confidences.Certify(t.Context(), path, []float64{0, .2, .3, .7}, confidences.Options{Spending: spending, Method: "standard", Mode: "max"})
		if err != nil {
			t.Fatal(err)
		}
		for k, got := range of("certify", "--certificate", "standard", "--mode", "max", "--spending", string(spending)) {
			n := len(want[k].Correct)
			checkNumbers(t, got, map[string]float64{"radius": want[k].Radius, "of": 6, "n": float64(n)})
			if !strings.Contains(got["note"].(string), alpha) {
				t.Errorf("%v", got["note"])
			}
			if k == 3 {
				if n > 0 || len(got) != 4 {
					t.Errorf("at 0.7: %v", got)
				}
				continue
			}
			width, hits := 0.0, 0.0
			for i, u := range want[k].Upper {
				width += (u - want[k].Lower[i]) / float64(n)
				if want[k].Correct[i] {
					hits++
				}
			}
			checkNumbers(t, got, map[string]float64{"mean_width": width, "certified_accuracy": hits / 6})
		}
	}
	// The verbs say of a ledger what they say of the CSV file that certify writes.
	intervals := filepath.Join(t.TempDir(), "z.csv")
	if _, code := output(t, "calib", "certify", "--ledger", path, "--radii", "0,0.2", "-o", intervals); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	second := strings.TrimSuffix(intervals, ".csv") + "-0.2.csv"
	for _, verb := range []string{"exact", "cbs", "metrics", "admm", "dece"} {
		args := []string{}
		if verb == "admm" {
			args = []string{"--steps", "50"}
		}
		at := of(verb, args...)
		for key, w := range jsonOf(t, append([]string{"calib", verb, "--in", second, "--json"}, args...)...) {
			if v, ok := w.(float64); ok {
				checkNumbers(t, at[1], map[string]float64{key: v})
			}
		}
		if at[3]["n"] != 0. {
			t.Errorf("%s at 0.7: %v", verb, at[3])
		}
	}
	text, code := output(t, "calib", "exact", "--ledger", path, "--radii", "0.2,0.7")
	if code != 0 || !strings.Contains(text, "radius 0.2, certified for ") || !strings.Contains(text, "no certified samples") || !strings.Contains(text, "do not at once") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for format, row := range map[string]string{"markdown": "| 0.700 | 0 | – | – | – |", "latex": "& 0.700 & 0 & -- & -- & --", "csv": ",0.7,0,–,–,–", "text": "–"} {
		text, code = output(t, "calib", "table", path, second, "--radii", radii, "--format", format)
		if code != 0 || !strings.Contains(text, row) {
			t.Errorf("%s, exit code %d: %s", format, code, text)
		}
	}
	// Without radii, those of the ledger's claims.
	text, code = output(t, "calib", "table", path, "--json")
	constant := strings.Count(text, `"constant":true`) // beside each radius with samples
	if lines := strings.Count(text, "\n"); code != 0 || lines != 5 || constant != 2 || !strings.Contains(text, `"radius":0.25`) {
		t.Errorf("exit code %d, %d lines: %s", code, lines, text)
	}
}

func TestCalibOfALedgerFailures(t *testing.T) {
	path := scoredLedger(t)
	csv := writeFile(t, "six.csv", sixSamples)
	for _, c := range []struct {
		want int
		args []string
	}{
		{cli.ExitUsage, []string{"exact", "--ledger", path, "--in", csv}},
		{cli.ExitUsage, []string{"exact", "--in", csv, "--radii", "0.1"}},
		{cli.ExitUsage, []string{"exact", "--in", csv, "--spending", "split"}},
		{cli.ExitUsage, []string{"exact", "--ledger", path, "--radii", "-1"}},
		{cli.ExitUsage, []string{"exact", "--ledger", path, "--certificate", "mean"}},
		{cli.ExitUsage, []string{"exact", "--ledger", path, "--mode", "top"}},
		{cli.ExitUsage, []string{"exact", "--ledger", path, "--spending", "all"}},
		{cli.ExitUsage, []string{"exact", "--ledger", path, "--radii", "0,0.1", "--lp", filepath.Join(t.TempDir(), "x")}},
		{cli.ExitUsage, []string{"admm", "--ledger", path, "--radii", "0,0.1", "--trace", filepath.Join(t.TempDir(), "x")}},
		{cli.ExitUsage, []string{"certify"}},
		{cli.ExitFailed, []string{"certify", "--ledger", oldLedger}},
		{cli.ExitFailed, []string{"certify", "--ledger", path + ".missing"}},
		{cli.ExitFailed, []string{"certify", "--ledger", csv}},
		{cli.ExitFailed, []string{"table", path, oldLedger}},
	} {
		if text, code := output(t, append([]string{"calib"}, c.args...)...); code != c.want || text != "" {
			t.Errorf("%q: exit code %d, output %q; want %d and nothing", c.args, code, text, c.want)
		}
	}
	if err := os.Remove(path + ".scores"); err != nil {
		t.Fatal(err)
	}
	if text, code := output(t, "calib", "certify", "--ledger", path); code != cli.ExitFailed || text != "" {
		t.Errorf("exit code %d, %s", code, text)
	}
}

// The contract of certify --keep-scores: wrong numbers and no ledger are wrong use.
func TestKeepScoresFlag(t *testing.T) {
	for _, args := range [][]string{{"--keep-scores"}, {"--keep-scores=0", "--ledger", "x"}, {"--keep-scores=1001", "--ledger", "x"}, {"--keep-scores=tip", "--ledger", "x"}, {"--keep-scores=top"}, {"--keep-scores=10", "--ledger", "x", "--shard", "0/2", "--shard-by", "blocks", "--rule", "fixed"}} {
		line := append([]string{"certify", "--model", trainedModel, "--data", "fashionmnist/test", "--sigma", "0.25"}, args...)
		if text, code := output(t, line...); code != cli.ExitUsage || text != "" {
			t.Errorf("%q: exit code %d, %s", args, code, fmt.Sprint(text))
		}
	}
}

// The joint claim on the committed ledger of 2,000 images: k = 11 of 2,000 at δ = .001 (P[Bin(2000, .002) > 11] = .0009), and
// bounds between the error where all intervals hold and that plus 2k over the samples.
func TestCalibExactJoint(t *testing.T) {
	cmd := commandOf(t, "calib")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"exact", "--ledger", "../../notebooks/results/fmnist-cnn-s025-scores.ledger", "--radii", "0,0.25", "--claim", "joint", "--json"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		N, Attempted, Failures int
		Joint                  float64 `json:"joint_cce"`
		CCE, Gap               float64
	}
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Attempted != 2000 || a.Failures != 11 || !(a.Joint > a.CCE) || a.Joint > a.CCE+22/float64(a.N) || a.Gap > 1e-3 {
			t.Errorf("%+v", a)
		}
	}
	if len(answers) != 2 {
		t.Errorf("%d radii", len(answers))
	}
}
