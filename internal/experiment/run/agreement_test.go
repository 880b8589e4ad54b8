package run

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// Two trained networks are compared by their predictions, which need both; rows of finished results are put next to them.
func TestAgreementAndResults(t *testing.T) {
	file := tinyFile(t, "  agreeing:\n    title: Agreement\n    rows: [tiny/g, tiny/hcr]\n    measure: {clean: true, agreement: true}\n")
	o := tiny(t, file)
	o.Table = "agreeing"
	e, err := plan.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, j := range e.Jobs {
		found = append(found, j.String())
	}
	all := strings.Join(found, "\n")
	if !strings.Contains(all, "agree tiny/hcr@1 with tiny/g@1") || strings.Index(all, "train tiny/g@1") > strings.Index(all, "agree") {
		t.Errorf("jobs:\n%s", all)
	}
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f, err := results.Fill(t.Context(), o.Folder, "agreeing", resample.Options{Resamples: 200})
	if err != nil {
		t.Fatal(err)
	}
	if a := f.Lines[0].Found["agreement"].(*results.Agreement); a == nil || a.Agree != 1 || a.Interval != (resample.Interval{Low: 1, High: 1}) {
		t.Errorf("the reference agrees with itself: %+v", a)
	}
	// The agreement of the two by hand, from the files.
	read := func(name string) *study.Column {
		p, err := measure.ReadPredictions(filepath.Join(o.Folder, "results", name+".predictions.csv"), name)
		if err != nil || p == nil {
			t.Fatal(err)
		}
		return p
	}
	g, hcr := read("tiny-g-s1"), read("tiny-hcr-s1")
	same, right := 0.0, 0.0
	for i, class := range hcr.Values {
		if class == g.Values[i] {
			same++
		}
		if int(class) == hcr.Labels[i] {
			right++
		}
	}
	n := float64(len(g.Images))
	if a := f.Lines[1].Found["agreement"].(*results.Agreement); a == nil || a.Images != len(g.Images) || math.Abs(a.Agree-same/n) > 1e-12 || math.Abs(a.Accuracy-right/n) > 1e-12 {
		t.Errorf("%+v; want %v of %v, accuracy %v", a, same, n, right/n)
	}
	for _, table := range f.Tables() {
		all += table.CSV()
	}
	if !strings.Contains(all, "agreement") {
		t.Error("no table of agreement")
	}
	for _, j := range e.Jobs {
		if done, err := plan.Done(e.Manifest, o.Folder, j); err != nil || !done {
			t.Errorf("%v is not done: %v", j, err)
		}
	}

	// A ledger and a file of radii as rows of their own.
	ledgers, err := filepath.Glob(filepath.Join(o.Folder, "ledgers", "tiny-g-s1", "clean.ledger"))
	if err != nil || len(ledgers) != 1 {
		t.Fatal(ledgers, err)
	}
	dir := t.TempDir()
	for from, to := range map[string]string{ledgers[0]: "theirs.ledger", filepath.Join(o.Folder, "results", "tiny-hcr-s1.csv"): "published.csv"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := testkit.Write(t, []byte("rows: [{results: theirs.ledger, title: Theirs}, {results: published.csv, title: Published}]\n"),
		dir, "rows.yaml")
	o.Add = append(o.Add, rows)
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if f, err = results.Fill(t.Context(), o.Folder, "agreeing", resample.Options{Resamples: 200}); err != nil {
		t.Fatal(err)
	}
	if len(f.Lines) != 4 || f.Lines[2].Values[0].Mean != f.Lines[0].Values[0].Mean || f.Lines[3].Values[0].Mean != f.Lines[1].Values[0].Mean ||
		f.Lines[3].Values[0].Difference.Difference != f.Lines[1].Values[0].Difference.Difference {
		t.Errorf("%+v", f.Lines)
	}
	// The folder stands without their files.
	for _, name := range []string{"theirs.ledger", "published.csv"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	alone, err := results.Fill(t.Context(), o.Folder, "agreeing", resample.Options{Resamples: 200})
	if err != nil || alone.Lines[2].Values[0].Mean != f.Lines[0].Values[0].Mean || alone.Lines[3].Values[0].Mean != f.Lines[1].Values[0].Mean {
		t.Errorf("without the files: %+v, %v", alone, err)
	}
	for want, row := range map[string]string{
		"one of them":         "{results: a.csv, model: b, title: X}",
		"has no title":        "{results: a.csv}",
		"onnx is for a model": "{results: a.csv, title: X, onnx: {}}",
		"no such file":        "{results: nothing.csv, title: X}",
		"nothing.ledger: no":  "{results: nothing.ledger, title: X}",
		"is no closed ledger": "{results: open.ledger, title: X}",
		"its first line":      "{results: bad.csv, title: X}",
	} {
		os.WriteFile(filepath.Join(dir, "bad.csv"), []byte("a,b,c\n"), 0o666)
		os.WriteFile(filepath.Join(dir, "open.ledger"), []byte("{}\n"), 0o666)
		testkit.Write(t, []byte("rows: ["+row+"]\n"), rows)
		if _, err := plan.Plan(o); err == nil || !strings.Contains(err.Error(), want) && !(want == "no such file" && strings.Contains(err.Error(), "does not exist")) {
			t.Errorf("%s: error %v; want it to say %q", row, err, want)
		}
	}
}
