package run

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/lines/classfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
)

// Plain accuracies of two trained networks are in the table, with predictions that package lines reads; a second run does nothing.
func TestEvaluate(t *testing.T) {
	file := tinyFile(t, "  plain:\n    title: Plain\n    rows: [tiny/g, tiny/hcr]\n    measure: {evaluate: {corrupt: [brightness, contrast], severities: [1]}}\n")
	o := tiny(t, file)
	o.Table = "plain"
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f, err := results.Fill(t.Context(), o.Folder, "plain", resample.Options{Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := f.Lines[0].Found["evaluate"].(*results.Accuracies)
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
	labels, err := classfile.Read(filepath.Join(o.Folder, "predictions", "clean", classfile.Labels))
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
	// Shards join, predictions and all; other predictions of the same network do not.
	parts := []string{}
	for i := range 2 {
		part := tiny(t, file)
		part.Table, part.Shard, part.Shards = "plain", i, 2
		if err := Table(t.Context(), part); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part.Folder)
	}
	out := filepath.Join(t.TempDir(), "merged")
	if _, err := results.Merge(t.Context(), out, parts); err != nil {
		t.Fatal(err)
	}
	all := everyFile(t, filepath.Join(o.Folder, "predictions"))
	if got := everyFile(t, filepath.Join(out, "predictions")); len(all) < 9 || !maps.Equal(got, all) {
		t.Errorf("merged predictions are %v; of one run %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(all)))
	}
	other := slices.Clone(clean[0].Classes)
	other[0] = (other[0] + 1) % 3
	if err := classfile.Write(filepath.Join(out, "predictions", "clean", clean[0].Model+".npy"), other); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Merge(t.Context(), out, parts); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("other predictions are merged: %v", err)
	}
	e, err := plan.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if est, err := e.Estimate(t.Context(), false); err != nil || !strings.HasPrefix(est.String(), "0 jobs left") {
		t.Errorf("%v, %v", est, err)
	}
}

// A record of a trained network has its accuracy on a further set, here the same images, among their own classes; a row may be a line of a CSV. Shards that are merged have the records of all.
func TestRecordsOfRows(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains two small networks")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "few.yaml")
	for name, text := range map[string]string{
		"few.yaml": `tiers:
  few:
    title: few images
    epochs: 1
    batch: 16
    seeds: 1
    data: {cifar10: {at: synthetic, network: small-cnn, train: count=48, test: count=40}}
    images: {record: count=30}
    record: {pairs: 1, pixel_pairs: 1, jacobian_images: 1}
    certify: {rule: fixed, n: 100, n0: 20, block: 20}
    clean: count=2
    corrupted: {images: count=2, severities: [1]}
`,
		"acc.csv":  "model,group,cifar10_acc,again\nother,theirs,50%,25%\n",
		"own.yaml": "tables:\n  rows:\n    title: Rows\n    rows: [A/c10/g, {results: " + filepath.Join(dir, "acc.csv") + "#other, title: other}]\n    measure: {record: {sets: {again: cifar10}}}\n",
		"bad.yaml": "tables:\n  bad:\n    title: Bad\n    rows: [A/c10/g, {results: " + filepath.Join(dir, "acc.csv") + "#othr, title: other}]\n    measure: {record: {}}\n",
	} {
		testkit.Write(t, []byte(text), dir, name)
	}
	o := tiny(t, file)
	o.Tier, o.Table, o.Add = "few", "rows", append(o.Add, filepath.Join(dir, "own.yaml"))
	var folders []string
	for shard := range 2 {
		one := o
		one.Shard, one.Shards, one.Folder = shard, 2, filepath.Join(t.TempDir(), "shard")
		if err := Table(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, one.Folder)
	}
	out := filepath.Join(t.TempDir(), "merged")
	if _, err := results.Merge(t.Context(), out, folders); err != nil {
		t.Fatal(err)
	}
	models, err := lines.Read(filepath.Join(out, "records.jsonl"), lines.CSV{})
	if err != nil || len(models) != 1 {
		t.Fatalf("%v, %v", models, err)
	}
	if m := models[0]; m.Accuracies["again"] != m.Accuracies["cifar10_acc"] || m.Accuracies["again"].N != 30 {
		t.Errorf("%+v", m.Accuracies)
	}
	f, err := results.Fill(t.Context(), out, "rows", resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of, ok := f.Lines[1].Found["record"].(*results.RecordMeans)
	if !ok || of.Percent["cifar10_acc"] != 50 || of.Percent["again"] != 25 {
		t.Errorf("%+v", f.Lines[1].Found)
	}
	o.Add, o.Table = append(o.Add[:1:1], filepath.Join(dir, "bad.yaml")), "bad"
	if _, err := plan.Plan(o); err == nil || !strings.Contains(err.Error(), "did you mean other?") {
		t.Errorf("error %v", err)
	}
}
