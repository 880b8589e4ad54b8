package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/lines/classfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/lines"
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
		file := testkit.Write(t, []byte("model,clean,fog\n"+strings.ReplaceAll(rows, " ", "\n")+"\n"),
			t.TempDir(), "acc.csv")
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

// Predictions of other images are refused, with names, and not with a list of a thousand ids.
func TestAgreeRefuses(t *testing.T) {
	long := classfile.FormatIDs([]int{1, 4, 18, 25, 27, 43, 47, 54, 58, 73, 75, 84, 126, 127, 130, 136, 145, 146, 154, 158})
	for name, c := range map[string]struct {
		ids, shifted []string // of a, b, c
		last         []int    // classes of c under the shift
		labels       string
		args         []string
		want         string
	}{
		"other ids":          {shifted: []string{long, long, "0:20:1"}, want: "saw the images 1,4,18,25,27,43,47,54,58,73,75,84,126,… of x (d), and c the images 0:20:1"},
		"said to be same":    {ids: []string{"1", "1", "1"}, shifted: []string{"2", "2", "2"}, args: []string{"--same-images"}, want: "a saw the images 1 of x (d) without the shift, and 2 of x (d) under it"},
		"other length":       {last: []int{1, 2}, want: "a has 4 predictions, and c 2"},
		"labels of another":  {labels: "[1,2,3]", want: "3 labels of 4 shifted images"},
		"labels are no list": {labels: "{", want: "labels.json"},
	} {
		folder := t.TempDir()
		for _, side := range []string{"id", "shifted"} {
			ids := map[string][]string{"id": c.ids, "shifted": c.shifted}[side]
			for i, model := range []string{"a", "b", "c"} {
				p := lines.Predictions{Model: model, Classes: []int{0, 1, 2 - i/2, i}, Card: &lines.PredictionCard{Model: model, Data: "x", Digest: "d"}}
				if ids != nil {
					p.Card.IDs = ids[i]
				}
				if side == "shifted" && i == 2 && c.last != nil {
					p.Classes = c.last
				}
				if err := os.MkdirAll(filepath.Join(folder, side), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := p.Write(filepath.Join(folder, side)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := classfile.Write(filepath.Join(folder, "id", classfile.Labels), []int{0, 1, 2, 1}); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"lines", "agree", "--id", filepath.Join(folder, "id"), "--shifted", filepath.Join(folder, "shifted")}, c.args...)
		if c.labels != "" {
			file := testkit.Write(t, []byte(c.labels), folder, "labels.json")
			args = append(args, "--labels", file)
		}
		if _, err := outputOf(t, args[0], args[1:]...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
	}
}
