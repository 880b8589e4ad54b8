package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
)

// The six samples of section 11.E (4) of the specification of certified calibration, with three bins.
const sixSamples = "\ufeffcorrect,lower,upper,confidence\r\n" +
	"1,.40,.70,.55\r\n0,.55,.80,.70\r\n1,.60,.95,.80\r\n1,.70,.90,.85\r\n0,.30,.60,.45\r\n1,.65,.99,.90\r\n"

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	return testkit.Write(t, []byte(text), t.TempDir(), name)
}

// jsonOf runs a command line and decodes what it prints.
func jsonOf(t *testing.T, args ...string) map[string]any {
	t.Helper()
	text, code := output(t, args...)
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 {
		t.Fatalf("%q: exit code %d, %v: %s", args, code, err, text)
	}
	return got
}

// checkNumbers compares numbers of a JSON object; a want of NaN means that the key must be missing.
func checkNumbers(t *testing.T, got map[string]any, want map[string]float64) {
	t.Helper()
	for key, w := range want {
		v, ok := got[key].(float64)
		if math.IsNaN(w) {
			if _, there := got[key]; there {
				t.Errorf("%s is %v, want none", key, got[key])
			}
		} else if !ok || math.Abs(v-w) > 1e-6 {
			t.Errorf("%s is %v, want %v", key, got[key], w)
		}
	}
}

func TestCalibExact(t *testing.T) {
	path := writeFile(t, "six.csv", sixSamples)
	assignment := filepath.Join(t.TempDir(), "worst.csv")
	got := jsonOf(t, "calib", "worst", "--in", path, "--bins", "3", "--json", "--assignment", assignment)
	checkNumbers(t, got, map[string]float64{
		"n": 6, "bins": 3, "cce": .427778, "cbs": .288750, "mean_gap": .508333, "ece": .041667, "ece_of_brier_confidences": .208333,
		"brier": (.45*.45 + .7*.7 + .2*.2 + .15*.15 + .45*.45 + .1*.1) / 6,
	})
	lp := filepath.Join(t.TempDir(), "six.lp")
	jsonOf(t, "calib", "worst", "--in", path, "--bins", "3", "--json", "--lp", lp)
	if text, err := os.ReadFile(lp); err != nil || !strings.Contains(string(text), "\nMaximize\n") {
		t.Errorf("%v: %s", err, text)
	}
	// The assignment is worth the CCE.
	f, err := os.Open(assignment)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 7 || rows[0][1] != "bin" || rows[0][4] != "confidence" {
		t.Fatalf("%v, %v", rows, err)
	}
	gaps := map[string]float64{}
	for i, row := range rows[1:] {
		z, err := strconv.ParseFloat(row[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		gaps[row[1]] += z - []float64{1, 0, 1, 1, 0, 1}[i]
	}
	total := 0.0
	for _, g := range gaps {
		total += math.Abs(g) / 6
	}
	if math.Abs(total-.427778) > 1e-6 {
		t.Errorf("the assignment %v is worth %v", rows, total)
	}
	// Without confidences there is no ECE of theirs.
	bare := writeFile(t, "bare.csv", "correct,lower,upper\n0,.2,.6\n1,.6,.9\n")
	got = jsonOf(t, "calib", "worst", "--in", bare, "--edges", "0,.5,1", "--json")
	checkNumbers(t, got, map[string]float64{"cce": .45, "ece": math.NaN(), "brier": math.NaN()})
	got = jsonOf(t, "calib", "worst", "--in", bare, "--json")
	checkNumbers(t, got, map[string]float64{"n": 2, "cbs": (.36 + .16) / 2, "mean_gap": .5})
	text, code := output(t, "calib", "worst", "--in", path, "--bins", "3")
	if code != 0 || !strings.Contains(text, "0.427778") || !strings.Contains(text, "0.288750") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestCalibSearches(t *testing.T) {
	path := writeFile(t, "six.csv", sixSamples)
	trace := filepath.Join(t.TempDir(), "trace.csv")
	got := jsonOf(t, "calib", "worst", "--by", "admm", "--in", path, "--bins", "3", "--steps", "200", "--trace", trace, "--json")
	checkNumbers(t, got, map[string]float64{"exact": .427778, "gap": got["exact"].(float64) - got["acce"].(float64)})
	if runs := got["runs"].([]any); len(runs) != 16 || got["gap"].(float64) < 0 || got["acce"].(float64) < .208333 {
		t.Errorf("%d runs: %v", len(runs), got)
	}
	if text, err := os.ReadFile(trace); err != nil || strings.Count(string(text), "\n") != 201 {
		t.Errorf("trace: %v, %d lines", err, strings.Count(string(text), "\n"))
	}
	got = jsonOf(t, "calib", "worst", "--by", "dece", "--in", path, "--bins", "3", "--trials", "13", "--json")
	if dece := got["dece"].(float64); dece < .208333-1e-6 || dece > .427778+1e-6 || len(got["runs"].([]any)) != 13 {
		t.Errorf("%v", got)
	}
}

// A picture has the numbers of "calib cbs" and "calib exact", and with --common all points are of the images of the largest radius.
func TestFiguresOfCalibration(t *testing.T) {
	const scored = "../../notebooks/results/fmnist-cnn-s025-scores.ledger"
	list := func(args string) (all []struct {
		Radius, Value, CBS, CCE float64
		N, Images               int
		Note                    string
	}) {
		t.Helper()
		text, code := output(t, strings.Fields("calib "+args+" --radii 0,0.1 --json")...)
		if err := json.Unmarshal([]byte(text), &all); err != nil || code != 0 || len(all) != 2 {
			t.Fatalf("%s: exit code %d, %v: %s", args, code, err, text)
		}
		return all
	}
	out := filepath.Join(t.TempDir(), "plot.svg")
	cbs, exact := list("worst --ledger "+scored), list("worst --ledger "+scored)
	for i, p := range list("table " + scored + " --figure cbs --out " + out) {
		if p.Value != cbs[i].CBS || p.Images != cbs[i].N || !strings.Contains(p.Note, "0.999") {
			t.Errorf("%+v, cbs has %v of %d", p, cbs[i].CBS, cbs[i].N)
		}
	}
	if p := list("table " + scored + " --figure cce --out " + out)[1]; p.Value != exact[1].CCE || p.Value == 0 {
		t.Errorf("%v, exact has %v", p.Value, exact[1].CCE)
	}
	common := list("table " + scored + " --figure cbs --common --out " + out)
	if common[0].Images != cbs[1].N || common[1].Value != cbs[1].CBS || common[0].Value >= common[1].Value {
		t.Errorf("%+v, the larger radius alone %v of %d", common, cbs[1].CBS, cbs[1].N)
	}
	if drawn, err := os.ReadFile(out); err != nil || !strings.Contains(string(drawn), "certified at all these radii") {
		t.Errorf("%v: no title in the picture", err)
	}
	for want, args := range map[string][]string{
		"--search: it is of tables":                 {"--figure", "cbs", "--search", "--out", out},
		"--trials: expected --search or --figure":   {"--trials", "3"},
		"--common: it is of figures":                {"--search", "--common"},
		"--out is missing":                          {"--figure", "cce"},
		"--figure searches of 2 ledgers":            {scored, "--figure", "searches", "--out", out},
		"expected cbs, cce, width, searches or sta": {"--figure", "ece"},
	} {
		if _, err := outputOf(t, "calib", append([]string{"table", scored}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", args, err, want)
		}
	}
}

func TestCalibMetrics(t *testing.T) {
	path := writeFile(t, "z.csv", "confidence,correct\n.9,1\n1,0\n0,1\n.25,0\n")
	got := jsonOf(t, "calib", "metrics", "--in", path, "--bins", "2", "--bootstrap", "100", "--json")
	checkNumbers(t, got, map[string]float64{"n": 4, "accuracy": .5, "ece": (.75 + .9) / 4, "adaece": (.75 + .9) / 4, "brier": (.01 + 1 + 1 + .0625) / 4})
	if loss, there := got["log_loss"]; loss != nil || !there || len(got["warnings"].([]any)) != 1 {
		t.Errorf("log loss %v, warnings %v; want null and one", loss, got["warnings"])
	}
	bars := got["bins"].([]any)
	if len(bars) != 2 {
		t.Fatalf("%v", bars)
	}
	checkNumbers(t, bars[1].(map[string]any), map[string]float64{"lower": .5, "upper": 1, "count": 2, "confidence": .95, "accuracy": .5, "gap": .45})
	if i := got["intervals"].(map[string]any)["ece"].(map[string]any); i["lower"].(float64) > i["upper"].(float64) {
		t.Errorf("%v", i)
	}
	// A confidence on an edge: [L, U) or (L, U].
	path = writeFile(t, "edge.csv", "confidence,correct\n.5,1\n.75,0\n")
	for closed, want := range map[string]float64{"left": .125, "right": .625} {
		checkNumbers(t, jsonOf(t, "calib", "metrics", "--in", path, "--bins", "2", "--closed", closed, "--json"), map[string]float64{"ece": want, "log_loss": (math.Ln2 + math.Log(4)) / 2})
	}
	text, code := output(t, "calib", "metrics", "--in", path, "--bins", "2")
	if code != 0 || !strings.Contains(text, "+0.1250") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// Whole rows of probabilities, the test and the diagram. Of the two classes' errors, 0.3 and 0.3, the mean is 0.3.
func TestCalibMetricsOfRows(t *testing.T) {
	path := writeFile(t, "rows.csv", "p1,label,p0\n.2,0,.8\n.6,0,.4\n.9,1,.1\n.9,1,.1\n")
	picture := filepath.Join(t.TempDir(), "r.svg")
	got := jsonOf(t, "calib", "metrics", "--probabilities", path, "--bins", "1", "--test", "99", "--diagram", picture, "--json")
	nll := -(math.Log(.8) + math.Log(.4) + 2*math.Log(.9)) / 4
	checkNumbers(t, got, map[string]float64{"n": 4, "accuracy": .75, "classwise_ece": .15, "nll": nll, "mce": .05, "adaece_quantile": .05, "debiased_ece": 0})
	if p := got["kernel_test"].(map[string]any)["p_value"].(float64); p < .01 || p > 1 {
		t.Errorf("p-value %v", p)
	}
	if text, err := os.ReadFile(picture); err != nil || !strings.Contains(string(text), "with the band of calibrated ones") {
		t.Errorf("%v: %.200s", err, text)
	}
	text, code := output(t, "calib", "metrics", "--probabilities", path, "--test", "99")
	for _, want := range []string{"AdaECE, blocks", "AdaECE, quantiles", "smooth ECE", "debiased ECE", "maximum error", "classwise ECE", "p = "} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("exit code %d, no %q: %s", code, want, text)
		}
	}
	for text, want := range map[string]string{
		"":                               "empty",
		"label,p0\n0,1\n":                "no column p1",
		"label,p0,p1,p3\n":               "column p3 without p2",
		"label,p0,p1,p1\n":               "second column p1",
		"label,p0,p1\n":                  "no certified samples",
		"label,p0,p1\n2,.5,.5\n":         "rows.csv:2:1: label",
		"label,p0,p1\n1,.5,x\n":          "rows.csv:2:6: p1",
		"label,p0,p1\n1,.5,.6\n":         "the sum of row 0",
		"correct,confidence,p0\n1,1,1\n": "no column label",
	} {
		if code, _, said := executed(t, "calib", "metrics", "--probabilities", writeFile(t, "rows.csv", text)); code != 1 || !strings.Contains(said, want) {
			t.Errorf("%q: exit code %d, %s; want %q", text, code, said, want)
		}
	}
	for _, args := range [][]string{{"--in", path}, {"--test", "-1"}, {"--diagram", "r.gif"}, {"--radii", "0.1"}} {
		if text, code := output(t, append([]string{"calib", "metrics", "--probabilities", path}, args...)...); code != 2 {
			t.Errorf("%v: exit code %d: %s", args, code, text)
		}
	}
}

func TestCalibTable(t *testing.T) {
	six, none := writeFile(t, "six.csv", sixSamples), writeFile(t, "none.csv", "correct,lower,upper\n")
	text, code := output(t, "calib", "table", six, none, "--bins", "3")
	if code != 0 || !strings.Contains(text, "0.4278") || strings.Count(text, "–") < 7 {
		t.Errorf("exit code %d: %s", code, text)
	}
	text, code = output(t, "calib", "table", six, none, "--bins", "3", "--json")
	if code != 0 || strings.Count(text, "\n") != 2 || !strings.Contains(text, `"n":0,"accuracy":null,"cce":null`) {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestCalibFailures(t *testing.T) {
	six := writeFile(t, "six.csv", sixSamples)
	z := writeFile(t, "z.csv", "correct,confidence\n1,.5\n")
	none := writeFile(t, "none.csv", "correct,lower,upper\n")
	bad := writeFile(t, "bad.csv", "correct,lower,upper\n1,.5,nan\n")
	outside := writeFile(t, "outside.csv", "correct,lower,upper,confidence\n1,.5,.6,.7\n")
	for _, c := range []struct {
		want int
		args []string
	}{
		{cli.ExitUsage, []string{"worst"}},
		{cli.ExitUsage, []string{"worst", "--in", six, "--bins", "0"}},
		{cli.ExitUsage, []string{"worst", "--in", six, "--bins", "1001"}},
		{cli.ExitUsage, []string{"worst", "--in", six, "--edges", "0,1,.5"}},
		{cli.ExitUsage, []string{"worst", "--in", six, "--edges", "0,1", "--bins", "2"}},
		{cli.ExitUsage, []string{"worst", "--in", six, "--closed", "both"}},
		{cli.ExitUsage, []string{"metrics", "--in", z, "--bootstrap", "5"}},
		{cli.ExitUsage, []string{"metrics", "--in", z, "--level", "1"}},
		{cli.ExitUsage, []string{"worst", "--by", "admm", "--in", six, "--steps", "0"}},
		{cli.ExitUsage, []string{"worst", "--by", "dece", "--in", six, "--trials", "0"}},
		{cli.ExitUsage, []string{"table"}},
		{cli.ExitFailed, []string{"worst", "--in", six + ".missing"}},
		{cli.ExitFailed, []string{"worst", "--in", z}},
		{cli.ExitFailed, []string{"worst", "--in", z}},
		{cli.ExitFailed, []string{"worst", "--in", none}},
		{cli.ExitFailed, []string{"worst", "--in", bad}},
		{cli.ExitFailed, []string{"worst", "--by", "admm", "--in", outside}},
		{cli.ExitFailed, []string{"worst", "--by", "dece", "--in", z}},
		{cli.ExitFailed, []string{"metrics", "--in", none}},
		{cli.ExitFailed, []string{"table", six, bad}},
	} {
		if text, code := output(t, append([]string{"calib"}, c.args...)...); code != c.want || text != "" {
			t.Errorf("%q: exit code %d, output %q; want %d and nothing", c.args, code, text, c.want)
		}
	}
}
