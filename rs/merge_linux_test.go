package rs

import (
	"path/filepath"
	"syscall"
	"testing"
)

// More ledgers than files may be open are merged, with gaps between them, too.
func TestMergeMoreLedgersThanOpenFiles(t *testing.T) {
	files := syntheticShards(t, 1500, 4000)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)
	few := before
	few.Cur = 400
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if m, err := Merge(t.Context(), whole, files, false); err != nil || m.Images != 4000 || !m.Complete {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := Verify(t.Context(), whole); err != nil {
		t.Error(err)
	}
	// Every third shard is missing.
	part := filepath.Join(t.TempDir(), "part")
	var some []string
	for i, f := range files {
		if i%3 > 0 || i > 1490 {
			some = append(some, f)
		}
	}
	m, err := Merge(t.Context(), part, some, true)
	if err != nil || m.Images == 0 || m.Complete {
		t.Fatalf("%+v, %v", m, err)
	}
	have := map[int]bool{}
	for _, f := range some {
		r, err := Open(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			have[row.Image] = true
		}
	}
	if m.Images != len(have) {
		t.Fatalf("%d images, want %d", m.Images, len(have))
	}
}
