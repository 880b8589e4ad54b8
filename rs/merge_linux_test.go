package rs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// 3,000 shards are merged by a process that may open 1,024 files, in memory of which each has its own size alone.
func TestMergeOfManyShards(t *testing.T) {
	const shards = 3_000
	if testing.Short() {
		t.Skip("-short: writes 3,000 files")
	}
	if dir := testkit.Given(); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) != shards {
			t.Fatal(len(files), err)
		}
		merged, err := Merge(t.Context(), filepath.Join(t.TempDir(), "whole.ledger"), files, false)
		if err != nil || !merged.Complete || merged.Images != 2*shards {
			t.Errorf("%+v, %v", merged, err)
		}
		return
	}
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // where no file waits for a disk
	}
	files := syntheticShards(t, shards, 2*shards)
	testkit.Limited(t, "ulimit -n 1024 && ulimit -d 300000", filepath.Dir(files[0]), "GOMEMLIMIT=200MiB", "TMPDIR=")
}
