package certlog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/rs/certlog"
)

// A ledger, and what export writes of it, have the same rows.
func TestReadResults(t *testing.T) {
	ledger, err := certlog.ReadResults("../../../rs/testdata/v1-fixed.ledger")
	if err != nil || ledger.Run == nil || ledger.Log != nil {
		t.Fatalf("%+v, %v", ledger, err)
	}
	path := filepath.Join(t.TempDir(), "a.tsv")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := certlog.Write(file, certlog.TSV, ledger.Rows, nil); err != nil {
		t.Fatal(err)
	}
	file.Close()
	log, err := certlog.ReadResults(path)
	if err != nil || log.Run != nil || log.Log == nil || len(log.Rows) != len(ledger.Rows) {
		t.Fatalf("%+v, %v", log, err)
	}
	for i, row := range log.Rows {
		if want := ledger.Rows[i]; row.Image != want.Image || row.Class != want.Class || row.Radius != want.Radius {
			t.Errorf("%+v, want %+v", row, want)
		}
	}
	for _, bad := range []string{"results_test.go", "no such file", t.TempDir()} {
		if r, err := certlog.ReadResults(bad); err == nil {
			t.Errorf("%s: %+v", bad, r)
		}
	}
}
