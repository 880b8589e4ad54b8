package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong with a table of accuracies is said with file, line and column; a blank cell is left out and counted.
func TestLinesRefuse(t *testing.T) {
	for rows, want := range map[string]string{
		"a,0.9,0.7 b,88,0.6 c,0.7,0.5":              "line 3: clean: 88 is above 1",
		"a,9/10,7/10 b,11/10,6/10 c,7/10,5/10":      "line 3: clean: ",
		"a,0.9,NaN b,0.8,0.6 c,0.7,0.5":             "line 2: fog: accuracy NaN",
		"a,9/10,7/10 a,8/10,6/10 c,7/10,5/10":       `line 3: model: "a" stands twice, first in line 2`,
		"a,9/10,7/10 b,8/10,6/10":                   "2 points, want at least 3",
		"a,9/10,7/10 b,9/10,6/10 c,9/10,5/10":       "all 3 points have the same x",
		"a,0,0.7 b,1,0.6 c,0.7,0.5":                 `model "a": accuracy 0 of unknown n has no probit`,
		"a,9/10,7/10 b,8/10 c,7/10,5/10":            "line 3: wrong number of fields",
		"a,9/10,7/10 b,8/10,6/0 c,7/10,5/10":        "line 3: fog: ",
		"a,9/10,7/10 b,8/10, c,7/10,5/10 d,1/2,2/5": "1 of 4 models are left out, as they have no clean or no fog",
	} {
		file := filepath.Join(t.TempDir(), "acc.csv")
		if err := os.WriteFile(file, []byte("model,clean,fog\n"+strings.ReplaceAll(rows, " ", "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := outputOf(t, "lines", "fit", "--in", file, "--unit", "share", "--x", "clean", "--y", "fog", "--over", "nothing")
		if err != nil {
			out = err.Error()
			if strings.Contains(want, "line ") && !strings.Contains(out, file) {
				t.Errorf("%s: %v does not name the file", rows, err)
			}
		}
		if !strings.Contains(out, want) {
			t.Errorf("%s: %s; expected %q", rows, out, want)
		}
	}
}
