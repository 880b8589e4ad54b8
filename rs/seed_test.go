package rs_test

import (
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// The seed that settings give never changes: an old ledger would be of another run.
func TestDerivedSeedOfOldLedgers(t *testing.T) {
	old, err := filepath.Glob("../notebooks/results/*.ledger")
	if err != nil || len(old) == 0 {
		t.Fatal("no ledgers", err)
	}
	for _, path := range old {
		l, err := ledger.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if seed := rs.DerivedSeed(l.Header); !l.Header.SeedChosen && seed != l.Header.Seed {
			t.Errorf("%s has the seed %d, now derived as %d", path, l.Header.Seed, seed)
		}
	}
}
