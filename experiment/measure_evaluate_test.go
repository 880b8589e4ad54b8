package experiment

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
)

// Plain accuracies of two trained networks are in the table, with predictions that package lines reads; a second run does nothing.
func TestEvaluate(t *testing.T) {
	file := tinyFile(t, "  plain:\n    title: Plain\n    rows: [tiny/g, tiny/hcr]\n    measure: {evaluate: {corrupt: [brightness, contrast], severities: [1]}}\n")
	o := tiny(t, file)
	o.Table = "plain"
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f, err := Fill(o.Folder, "plain", resample.Options{Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := f.Lines[0].Found["evaluate"].(*accuracies)
	if !ok || len(a.Sets) != 3 || a.Sets[0] != "clean" || a.Models != 1 || !a.Clean.Contains(a.Shares[0]) {
		t.Errorf("%+v", a)
	}
	p, err := lines.ReadPredictions(filepath.Join(o.Folder, "predictions", "contrast"))
	if err != nil || len(p) != 2 || float64(p[0].Card.Right)/float64(p[0].Card.Images) < 0 {
		t.Errorf("%+v, %v", p, err)
	}
	clean, err := lines.ReadPredictions(filepath.Join(o.Folder, "predictions", "clean"))
	if err != nil {
		t.Fatal(err)
	}
	labels, err := lines.ReadClasses(filepath.Join(o.Folder, "predictions", "clean", lines.LabelsFile))
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, class := range clean[0].Classes {
		if class == labels[i] {
			right++
		}
	}
	if got := float64(right) / float64(len(labels)); got != a.Shares[0] {
		t.Errorf("accuracy %v; by the predictions %v", a.Shares[0], got)
	}
	var text []string
	for _, table := range f.Tables() {
		text = append(text, table.String())
	}
	for _, want := range []string{"accuracy without noise", "contrast"} {
		if !strings.Contains(strings.Join(text, "\n"), want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	e, err := Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if est, err := e.Estimate(t.Context(), false); err != nil || !strings.HasPrefix(est.String(), "0 jobs left") {
		t.Errorf("%v, %v", est, err)
	}
}
