package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func linesOutput(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := commandOf(t, "lines")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// Scripts read these keys. The six models lie on Φ⁻¹(y) = Φ⁻¹(x) − ½ up to rounding to whole images, the last one above it.
func TestLinesFit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "acc.csv")
	text := "model,group,clean,fog\na,standard,6000/10000,4027/10000\nb,standard,7000/10000,5097/10000\nc,standard,8000/10000,6338/10000\nd,standard,9000/10000,7827/10000\n" +
		"e,standard,9500/10000,8738/10000\nf,ours,8000/10000,7338/10000\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := linesOutput(t, "fit", "--in", file, "--x", "clean", "--y", "fog", "--baseline", "group=standard", "--resamples", "200", "--json")
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
	for args, want := range map[string]string{
		"fit --in " + file + " --x claen --y fog":                         "did you mean \"clean\"",
		"fit --in " + file + " --x clean --y fog --radius 0.5":            "--radius goes with --logs",
		"fit --x clean --y fog":                                           "wants --in, --logs",
		"fit --in " + file + " --x clean --y fog --baseline standard":     "label=value",
		"fit --in " + file + " --x clean --y fog --leave-out g":           "did you mean",
		"table --in " + file:                                              "have none of its predictors",
		"influence --in models.txt --x clean --y fog":                     "ends in .json, .jsonl or .csv",
		"fit --in " + file + " --x clean --y fog --over imges":            "--over",
		"fit --in " + file + " --x clean --y fog --baseline group=nobody": "want at least 3",
	} {
		if _, err := linesOutput(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", args, err, want)
		}
	}
}
