package study

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/sweep"
)

const results = "../notebooks/results/"

// Files named by a pattern give what the table of their folder gives.
func TestOpenFiles(t *testing.T) {
	const files = results + "experiments/A-scratch/results/A-c10-"
	own, err := OpenFiles(files+"fm-hcr-s?.csv", files+"g-jsd-s?.csv")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := Open(results+"experiments/A-scratch", "A/scratch-starts")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"clean", "fog", "C", "C Low", "C-bar severity 3"} {
		o := resample.Options{Resamples: 200}
		var got, want [2]Cell
		for k, recipe := range []string{"A/c10/fm-hcr", "A/c10/g-jsd"} {
			got[k], want[k] = Cell{own.Rows[k].Title, set, "acr"}, Cell{recipe, set, "acr"}
		}
		a, err1 := own.Difference(t.Context(), got[0], got[1], o)
		b, err2 := folder.Difference(t.Context(), want[0], want[1], o)
		if err1 != nil || err2 != nil || a.Difference != b.Difference || a.Interval != b.Interval || a.P != b.P {
			t.Errorf("%s: %+v (%v), want %+v (%v)", set, a, err1, b, err2)
		}
	}
	s, err := own.Sample(Cell{own.Rows[0].Title, "clean", "ca 0.5"})
	if err != nil || s.Starts() != 4 || len(s.Images) != 300 {
		t.Errorf("%v, want 4 starts and 300 images", err)
	}
}

// A folder of ledgers has the radii of its images; wrong and abstained ones count as 0.
func TestOpenFilesOfLedgers(t *testing.T) {
	const folder = results + "cifar10-resnet20-s025-C"
	f, err := OpenFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	swept, err := sweep.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	want, n := 0., 0.
	for _, c := range swept.Corrupted {
		for _, r := range c.Rows {
			if n++; r.Certified() && r.Correct() {
				want += r.Radius
			}
		}
	}
	got, there, err := f.Mean(Cell{folder, "C", "acr"})
	if err != nil || !there || math.Abs(got-want/n) > 1e-12 {
		t.Errorf("%g (%v), want %g", got, err, want/n)
	}
}

func TestOpenFilesErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		testkit.Write(t, []byte(text), path)
		return path
	}
	ledger := func(name, of string, lines int) string { // but for the last lines
		text := testkit.Read(t, results+of)
		kept := strings.SplitAfter(string(text), "\n")
		return filepath.Dir(write(name+"/clean.ledger", strings.Join(kept[:len(kept)-1-lines], "")))
	}
	csv := write("a.csv", "image,label,clean\n1,0,0.5\n")
	for _, test := range []struct{ want, a, b string }{
		{"matches no file", filepath.Join(dir, "nothing-?"), csv},
		{"expected a folder of ledgers", write("a.txt", "x"), csv},
		{"does not begin with", write("b.csv", "x,y\n"), csv},
		{"no set is in all paths", write("c.csv", "image,label,fog-3\n1,0,0.5\n"), csv},
		{`the set "fog"`, write("d.csv", "image,label,fog\n1,0,0.5\n"), filepath.Join(dir, "d.csv")},
		{"not finished", ledger("half", "quickstart.ledger", 2000), csv},
		{"its σ is 0.5, that of the folders before 0.25", ledger("first", "quickstart.ledger", 0),
			ledger("second", "fmnist-cnn-s050-scores.ledger", 0)},
	} {
		if _, err := OpenFiles(test.a, test.b); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	f, err := OpenFiles(csv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Sample(Cell{csv, "fog", "acr"}); err == nil {
		t.Error("a set that is not there has a sample")
	}
}
