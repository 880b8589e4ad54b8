package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
)

// Scripts read these keys. The six models lie on Φ⁻¹(y) = Φ⁻¹(x) − ½ up to rounding to whole images, the last one above it.
func TestLinesFit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "acc.csv")
	text := "model,group,clean,fog\na,standard,6000/10000,4027/10000\nb,standard,7000/10000,5097/10000\nc,standard,8000/10000,6338/10000\nd,standard,9000/10000,7827/10000\n" +
		"e,standard,9500/10000,8738/10000\nf,ours,8000/10000,7338/10000\n"
	testkit.Write(t, []byte(text), file)
	out, err := outputOf(t, "lines", "fit", "--in", file, "--x", "clean", "--y", "fog", "--baseline", "group=standard", "--resamples", "200", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Lines []struct {
			Slope, Intercept, R2 float64
			Models               int
			Intervals            map[string][2]float64
		}
		Models []struct {
			Name       string
			X          struct{ K, N int }
			Robustness float64 `json:"effective_robustness"`
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	l, last := answer.Lines[0], answer.Models[5]
	if math.Abs(l.Slope-1) > 0.002 || math.Abs(l.Intercept+0.5) > 0.002 || l.R2 < 0.9999 || l.Models != 5 || l.Intervals["slope"][0] > l.Slope {
		t.Errorf("%+v", l)
	}
	if last.Name != "f" || last.X.K != 8000 || last.X.N != 10_000 || math.Abs(last.Robustness-0.1) > 0.002 {
		t.Errorf("%+v", last)
	}
	// The ending of --out draws what is fitted.
	drawn := filepath.Join(t.TempDir(), "line.svg")
	fit := []string{"lines", "fit", "--in", file, "--x", "clean", "--y", "fog", "--out", drawn}
	if text, code := output(t, fit...); code != 0 || text != "" {
		t.Errorf("exit code %d: %s", code, text)
	}
	if svg, err := os.ReadFile(drawn); err != nil || !strings.Contains(string(svg), "<svg") {
		t.Errorf("no picture: %v", err)
	}
	for _, more := range []string{"--json", "--influence"} {
		if _, code := output(t, append(fit, more)...); code != cli.ExitUsage {
			t.Errorf("%s of a picture: exit code %d", more, code)
		}
	}
	for _, args := range [][]string{{"--figure", "2"}, {"--figure", "2", "--out", drawn, "--table", "2"}, {"--figure", "4", "--out", drawn}} {
		if _, code := output(t, append([]string{"lines", "table", "--in", file}, args...)...); code != cli.ExitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
	for args, want := range map[string]string{
		"fit --in " + file + " --x claen --y fog":                         "did you mean \"clean\"",
		"fit --in " + file + " --x clean --y fog --radius 0.5":            "--radius goes with --logs",
		"fit --x clean --y fog":                                           "wants --in, --logs",
		"fit --in " + file + " --x clean --y fog --baseline standard":     "label=value",
		"fit --in " + file + " --x clean --y fog --leave-out g":           "did you mean",
		"table --in " + file:                                              "have none of its predictors",
		"fit --influence --in models.txt --x clean --y fog":               "ends in .json, .jsonl or .csv",
		"fit --in " + file + " --x clean --y fog --over imges":            "--over",
		"fit --in " + file + " --x clean --y fog --baseline group=nobody": "want at least 3",
	} {
		if _, err := outputOf(t, "lines", strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", args, err, want)
		}
	}
}

// The first table of certified accuracies; the rough figures come from another program on the same files: slope 0.81, R² 0.62 at r = 0;
// 0.91 and 0.48 at 0.25.
func TestLinesCertified(t *testing.T) {
	const folder = "../../notebooks/results/experiments/A"
	out, err := outputOf(t, "lines", "fit", "--experiment", folder, "--x", "clean", "--y", "C", "--radius", "0,0.25", "--resamples", "50", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Lines []struct {
			Radius    any
			Slope, R2 float64
			Models    int
		}
		Models []struct {
			X        struct{ K, N int }
			Interval [2]float64
		}
		Notes []string
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ radius, slope, r2 float64 }{{0, 0.81, 0.62}, {0.25, 0.91, 0.48}} {
		if l := answer.Lines[i]; l.Radius != want.radius || math.Abs(l.Slope-want.slope) > 0.006 || math.Abs(l.R2-want.r2) > 0.006 || l.Models != 19 {
			t.Errorf("%+v; expected %+v", l, want)
		}
	}
	if m := answer.Models[0]; m.X.N != 500 || m.Interval[0] >= m.Interval[1] || len(answer.Notes) != 3 ||
		!strings.Contains(answer.Notes[0], "No intervals for the line of 19 models of 0.25: sampling error is 55 %") ||
		!strings.Contains(answer.Notes[2], "σ = 0.25, α = 0.001, staged, at most 500") {
		t.Errorf("%+v, %q", m, answer.Notes)
	}
	const ledgers = "../../notebooks/results/cifar10-resnet20-s025-C"
	for args, want := range map[string]string{
		"fit --experiment " + folder + " --x clean --y C --radius 0.54":                   "is above 0.5333, the cap",
		"fit --experiment " + folder + " --x clean --y fgo":                               "did you mean fog",
		"fit --experiment " + folder + " --x clean --y C --by method":                     "expected radius",
		"fit --experiment " + folder + " --x clean --y C --baseline group=nobody":         "no model has group = nobody",
		"fit --ledgers " + ledgers + " --x clean --y C --radius 0.25":                     "want at least 3",
		"fit --ledgers " + ledgers + " " + ledgers + " --x clean --y C":                   "stands twice",
		"fit --ledgers " + folder + " --x clean --y C":                                    "has no ledgers",
		"fit --leave-one-out --radius 0.5":                                                "--logs",
		"fit --experiment " + folder + " --x clean --y C --out " + t.TempDir() + "/a.gif": "no form of a table",
	} {
		if _, err := outputOf(t, "lines", strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", args, err, want)
		}
	}
	// One model's own line through its radii.
	if out, err = outputOf(t, "lines", "fit", "--ledgers", ledgers, "--x", "clean", "--y", "C", "--radius", "0,0.25,0.5", "--by", "model", "--over", "nothing", "--json"); err != nil || !strings.Contains(out, `"group": "cifar10-resnet20-s025-C"`) {
		t.Errorf("%v, %s", err, out)
	}
}
