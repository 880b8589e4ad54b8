package main

import (
	"encoding/json"
	"fmt"
	"math"
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
	for _, line := range []string{"worst", "metrics", "worst --by admm --steps 50", "worst --by dece"} {
		verb, args := strings.Fields(line)[0], strings.Fields(line)[1:]
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
	text, code := output(t, "calib", "worst", "--ledger", path, "--radii", "0.2,0.7")
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
		{cli.ExitUsage, []string{"worst", "--ledger", path, "--in", csv}},
		{cli.ExitUsage, []string{"worst", "--in", csv, "--radii", "0.1"}},
		{cli.ExitUsage, []string{"worst", "--in", csv, "--spending", "split"}},
		{cli.ExitUsage, []string{"worst", "--ledger", path, "--radii", "-1"}},
		{cli.ExitUsage, []string{"worst", "--ledger", path, "--certificate", "mean"}},
		{cli.ExitUsage, []string{"worst", "--ledger", path, "--mode", "top"}},
		{cli.ExitUsage, []string{"worst", "--ledger", path, "--spending", "all"}},
		{cli.ExitUsage, []string{"worst", "--ledger", path, "--radii", "0,0.1", "--lp", filepath.Join(t.TempDir(), "x")}},
		{cli.ExitUsage, []string{"worst", "--by", "admm", "--ledger", path, "--radii", "0,0.1", "--trace", filepath.Join(t.TempDir(), "x")}},
		{cli.ExitUsage, []string{"certify"}},
		{cli.ExitFailed, []string{"certify", "--ledger", oldLedger}},
		{cli.ExitFailed, []string{"certify", "--ledger", path + ".missing"}},
		{cli.ExitFailed, []string{"certify", "--ledger", csv}},
		{cli.ExitFailed, []string{"table", path, oldLedger}},
		{cli.ExitUsage, []string{"worst", "--in", path}}, // not as a CSV file
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
	for _, args := range [][]string{{"--keep-scores"}, {"--keep-scores=0", "--out", "x"}, {"--keep-scores=1001", "--out", "x"}, {"--keep-scores=tip", "--out", "x"}, {"--keep-scores=top"}, {"--keep-scores=10", "--out", "x", "--shard", "0/2", "--shard-by", "blocks", "--rule", "fixed"}} {
		line := append([]string{"certify", "--model", trainedModel, "--data", "fashionmnist/test", "--sigma", "0.25"}, args...)
		if text, code := output(t, line...); code != cli.ExitUsage || text != "" {
			t.Errorf("%q: exit code %d, %s", args, code, fmt.Sprint(text))
		}
	}
}

// The joint claim on the committed ledger of 2,000 images: k = 11 of 2,000 at δ = .001 (P[Bin(2000, .002) > 11] = .0009), and
// bounds between the error where all intervals hold and that plus 2k over the samples.
func TestCalibJoint(t *testing.T) {
	const scored = "../../notebooks/results/fmnist-cnn-s025-scores.ledger"
	type joint struct {
		N, Attempted, Failures    int
		Joint                     float64 `json:"joint_cce"`
		CCE, Gap, Fails, Expected float64
		Population                float64
	}
	var exact []struct {
		Note string
		joint
	}
	var certify []struct {
		Width    float64 `json:"mean_width"`
		Note     string
		Together joint
	}
	for verb, answer := range map[string]any{"worst": &exact, "certify": &certify} {
		text, code := output(t, "calib", verb, "--ledger", scored, "--radii", "0,0.25", "--claim", "joint", "--json")
		if err := json.Unmarshal([]byte(text), answer); err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v: %s", verb, code, err, text)
		}
	}
	for i, a := range exact {
		if a.Attempted != 2000 || a.Failures != 11 || !(a.Joint > a.CCE) || a.Joint > a.CCE+22/float64(a.N) || a.Gap > 1e-3 {
			t.Errorf("%+v", a)
		}
		checkNumbers(t, map[string]any{"fails": a.Fails, "expected": a.Expected, "population": a.Population}, map[string]float64{
			"fails": .002, "expected": a.CCE + .004*2000/float64(a.N), "population": a.Joint + math.Sqrt(2*math.Log(1000)/float64(a.N))})
		if c := certify[i]; c.Together != a.joint || c.Width <= 0 || c.Note != a.Note {
			t.Errorf("certify states %+v, exact %+v", c, a)
		}
		for _, what := range []string{"radius and interval of an image each hold with probability at least 0.999", "certified at the radius", "one run", "one law"} {
			if !strings.Contains(a.Note, what) {
				t.Errorf("the note does not say %q: %s", what, a.Note)
			}
		}
	}
	if len(exact) != 2 || len(certify) != 2 {
		t.Errorf("%d and %d radii", len(exact), len(certify))
	}
	csv := writeFile(t, "six.csv", sixSamples)
	for _, bad := range []string{"certify --ledger " + scored + " --bins 5", "certify --ledger " + scored + " --delta 0.1", "certify --ledger " + scored + " --claim joint --delta 1",
		"worst --in " + csv + " --claim joint", "worst --ledger " + scored + " --claim joint --radii 0.1 --spending family", "worst --ledger " + scored + " --claim joint --radii 0.1 --lp x.lp"} {
		if text, code := output(t, strings.Fields("calib "+bad)...); code != cli.ExitUsage {
			t.Errorf("%s: exit code %d, %s", bad, code, text)
		}
	}
}
