package study

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every committed file of columns is read, and written again to the same bytes.
func TestCommittedColumns(t *testing.T) {
	files, err := filepath.Glob("../notebooks/results/experiments/*/results/*.csv")
	if err != nil || len(files) < 277 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		form, ok := FormOf(file)
		text, err := os.ReadFile(file)
		if !ok || err != nil {
			t.Fatal(file, err)
		}
		columns, err := form.ReadColumns(text, "x")
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if !bytes.Equal(form.Text(columns), text) {
			t.Errorf("%s: other bytes", file)
		}
	}
}

func TestBrokenColumns(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "does not begin with image,label",
		"image,label\n":                    "does not begin with image,label",
		"image,correct,clean\n":            "does not begin with image,label",
		"image,label,fog,fog\n1,2,3,4\n":   "twice",
		"image,label,fog\n":                "empty",
		"image,label,fog\n2,1,1\n1,1,1\n":  "line 3: image \"1\"",
		"image,label,fog\n1,-1,1\n":        "line 2: image \"1\"",
		"image,label,fog\n1,1,-0.5\n":      "line 2: \"-0.5\" in fog",
		"image,label,fog\n1,1,NaN\n":       "line 2: \"NaN\" in fog",
		"image,label,fog\n1,1,+Inf\n":      "line 2: \"+Inf\" in fog",
		"image,label,fog\n1,1,b\n":         "line 2: \"b\" in fog",
		"image,label,fog\n1,1\n":           "wrong number of fields",
		"image,label,fog,mist\n1,1,0.5,\n": "\"mist\" is empty",
	} {
		form, _ := FormOf("x.csv")
		if _, err := form.ReadColumns([]byte(text), "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
	shares, _ := FormOf("x.shares.csv")
	if _, err := shares.ReadColumns([]byte("image,label,fog\n1,1,1.5\n"), "x"); err == nil {
		t.Error("a share of 1.5 is read")
	}
}

// A new measure names its columns by set and name.
func TestNewColumns(t *testing.T) {
	form, _ := FormOf("x.columns.csv")
	const text = "image,label,fog-3: kept,clean: kept\n4,1,0.25,\n7,2,a,-1\n"
	columns, err := form.ReadColumns([]byte(text), "net")
	if err != nil {
		t.Fatal(err)
	}
	if columns[0].Key != (Key{"net", "fog-3", "kept"}) || len(columns[1].Images) != 1 || columns[0].Marks[1] != abstained {
		t.Errorf("%+v, %+v", columns[0], columns[1])
	}
	if got := string(form.Text(columns)); got != text {
		t.Errorf("written as %q", got)
	}
}
