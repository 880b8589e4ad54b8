package run

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
)

// The share of the clean radius that is kept under a corruption, by hand from the ledgers; it needs a
// file of its own and no other one, and merges by its columns.
func TestKept(t *testing.T) {
	o := tiny(t, tinyFile(t, "  keeping:\n    title: Kept\n    rows: [tiny/g, tiny/hcr]\n"+
		"    measure: {kept: {corrupt: [brightness]}}\n"))
	o.Table = "keeping"
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f, err := results.Fill(t.Context(), o.Folder, "keeping", resample.Options{Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	for i, slug := range []string{"tiny-g-s1", "tiny-hcr-s1"} {
		want := keptByHand(t, filepath.Join(o.Folder, "ledgers", slug))
		all, _ := f.Lines[i].Found["kept"].([]results.Shown)
		if len(all) != 1 || all[0].Set != "brightness" || math.Abs(all[0].Mean-want) > 1e-12 || want == 0 {
			t.Errorf("%s: %+v; expected %v", slug, all, want)
		}
		if (all[0].Difference == nil) != (i == 0) {
			t.Errorf("%s: difference %v", slug, all[0].Difference)
		}
	}
	text := ""
	for _, table := range f.Tables() {
		text += table.CSV()
	}
	if !strings.Contains(text, "HCR,kept,brightness,1,") {
		t.Errorf("the table:\n%s", text)
	}
	other := t.TempDir()
	if _, err := results.Merge(t.Context(), other, []string{o.Folder, o.Folder}); err != nil {
		t.Fatal(err)
	}
	_, progress, err := plan.Status(other)
	if err != nil || progress[0].Done != progress[0].Jobs || progress[0].Jobs != 4 {
		t.Errorf("after merging %+v, %v", progress, err)
	}
}

func keptByHand(t *testing.T, ledgers string) float64 {
	t.Helper()
	clean, err1 := rs.Open(filepath.Join(ledgers, "clean.ledger"))
	bright, err2 := rs.Open(filepath.Join(ledgers, "brightness-3.ledger"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	sum, n := 0., 0.
	for i, row := range clean.Rows {
		if !row.Correct() || row.Radius == 0 {
			continue
		}
		if n++; bright.Rows[i].Image != row.Image {
			t.Fatal("other images")
		}
		if bright.Rows[i].Correct() {
			sum += math.Min(1, bright.Rows[i].Radius/row.Radius)
		}
	}
	return sum / n
}
