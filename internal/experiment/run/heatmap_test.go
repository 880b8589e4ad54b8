package run

import (
	"io/fs"
	"math"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/spectral"
	"github.com/certspec/certspec/table"
)

// A map over frequencies has at each the radius of its ledger, says so by rings, and is not made again.
func TestHeatMapMeasure(t *testing.T) {
	file := tinyFile(t, "  maps:\n    title: Maps\n    rows: [tiny/g]\n    measure: {heatmap: {epsilon: 0.5, frequencies: [0, 3], images: count=6}}\n")
	o := tiny(t, file)
	o.Table = "maps"
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	e, err := plan.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range e.Jobs {
		if j.Measure == nil {
			continue
		}
		done, err := plan.Done(e.Manifest, o.Folder, j)
		if !done || err != nil {
			t.Errorf("left: %v, %v", j, err)
		}
	}
	f, err := results.Fill(t.Context(), o.Folder, "maps", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	m := f.Lines[0].HeatMap()
	if m == nil || len(m.U) != 3 || len(m.Values) != 9 {
		t.Fatalf("map %+v", m)
	}
	run, err := rs.Open(filepath.Join(o.Folder, "ledgers", "tiny-g-s1", "heatmap", "u+3v+3.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if n := remembered(t, o.Folder); n < 5 { // of the nine frequencies, half are mirrored
		t.Errorf("%d ledgers of maps", n)
	}
	want := run.ACR().Value
	if want <= 0 || len(run.Rows) != 6 || math.Abs(m.Values[8]-want) > 1e-12 || m.Values[0] != m.Values[8] {
		t.Errorf("at (3, 3) and its mirror %v, %v; the ledger has %v of %d images", m.Values[8], m.Values[0], want, len(run.Rows))
	}
	all := f.Tables()
	if len(all) != 1 || len(all[0].Rows) != 1 || len(all[0].Columns) != 6 {
		t.Fatalf("tables %+v", all)
	}
	// The rings 0 to 2 hold the constant alone, 3 to 6 the others.
	low, mid := all[0].Rows[0][1], all[0].Rows[0][2]
	if low != any(results.Rounded(m.Values[4], 3)) || math.Abs(mid.(table.Rounded).Value-ringMean(m)) > 1e-12 {
		t.Errorf("rings %v, %v of %v", low, mid, m.Values)
	}
}

func ringMean(m *spectral.Map) (mean float64) {
	for k, v := range m.Values {
		if k != 4 {
			mean += v / 8
		}
	}
	return mean
}

// remembered asks that every ledger of a folder has the model's first answers beside it, with which a later run
// compares, and counts the ledgers.
func remembered(t *testing.T, folder string) (ledgers int) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".ledger" {
			return err
		}
		ledgers++
		if first, err := beside.ReadFirst(path); err != nil || first == nil {
			t.Errorf("%s: no first answers; %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ledgers
}
